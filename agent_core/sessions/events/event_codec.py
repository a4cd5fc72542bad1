"""Finished items of a turn ⇄ rows: a kind, the version of its form, and a JSON body.

A new version of a kind is a new function in its `upgrades`: from the last version's body to its own. What earlier
programs wrote is lifted step by step to the newest form, and read as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

from agent_core.errors import StoreError
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SessionEvent,
    UserSaid,
)
from agent_core.sessions.events.call_codec import CallSoFar, call_body, events_of, read_call
from agent_core.sessions.events.prompt_codec import part_body, read_part
from agent_core.sessions.events.stored_values import Body, list_in, number_in, plain, plain_text, text_in
from tools.context import TodoItem
from tools.light_dataclass import dataclass

Item = UserSaid | AgentText | AgentThought | Noticed | CallSoFar | PlanChanged | ContextUsed | ContextCompacted


@dataclass(frozen=True, slots=True)
class Encoded:
    """An item as a row holds it; `body` is strict JSON whose text UTF-8 can hold."""

    kind: str
    version: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How a kind of item is stored: reads the newest version, and lifts older bodies to it.

    Attributes:
        read: from the newest body to events; KeyError, TypeError and ValueError tell that it is damaged.
        upgrades: the first makes version 2 of version 1, and so on.
    """

    read: Callable[[Body], Iterable[SessionEvent]]
    upgrades: tuple[Callable[[Body], Body], ...] = ()

    @property
    def version(self) -> int:
        """The newest version."""
        return len(self.upgrades) + 1

    def events(self, version: int, body: Body) -> tuple[SessionEvent, ...]:
        """The events of a body of that version, which is not newer than ours."""
        if version < 1:
            raise ValueError(f"there is no version {version}")
        for upgrade in self.upgrades[version - 1 :]:
            body = upgrade(body)
        return tuple(self.read(body))


def encode(item: Item) -> Encoded:
    """The row of an item, in its kind's newest version; whatever the item holds, this does not fail."""
    kind, body = _encoded(item)
    return Encoded(kind, FORMS[kind].version, body)


def decode(kind: str, version: int, body: Mapping[str, Any], *, open: bool) -> tuple[SessionEvent, ...]:  # noqa: A002, ARG001
    """The events that show a stored item, in order.

    A tool call that had not ended has no `ToolFinished`, and a `ToolRunning` if it ran. What a later program stored
    comes as a note that says so.

    Args:
        open: as the row has it; a call's body tells the same.

    Raises:
        StoreError: the body cannot be read (kind «corrupt»).
    """
    form = FORMS.get(kind)
    if form is None or version > form.version:
        return (note(f"{kind}-{version}", _LATER),)
    try:
        return form.events(version, body)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise StoreError(
            f"An item of the session's history ({kind}, version {version}) could not be read: its content is damaged "
            f"({problem}). Run «hermes-acp doctor» to look at the database.",
            "corrupt",
        ) from problem


def unreadable() -> tuple[AgentThought]:
    """What stands in for an item that is damaged, so that the rest of its session can be shown."""
    return (note("damaged", _DAMAGED),)


def note(name: str, text: str) -> AgentThought:
    """A line of our own among the events."""
    return AgentThought(f"note-{name}", f"{text}\n")


_LATER = "Something stands here that only a later version of hermes-acp can show. Update hermes-acp to see it."
_DAMAGED = "Something stood here that cannot be read any more: the database is damaged. Run «hermes-acp doctor»."
_STATUSES: Mapping[str, Literal["pending", "in_progress", "completed", "cancelled"]] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
}
_SEVERITIES: Mapping[str, Literal["info", "warning", "error"]] = {
    "info": "info",
    "warning": "warning",
    "error": "error",
}
_STATES: Mapping[str, Literal["running", "done", "failed", "cancelled"]] = {
    "running": "running",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
}
_PRIORITIES: Mapping[str, Literal["high", "medium", "low"]] = {"high": "high", "medium": "medium", "low": "low"}


def _encoded(item: Item) -> tuple[str, dict[str, Any]]:
    match item:
        case UserSaid(message_id=message_id, parts=parts):
            return "said", {"id": plain_text(message_id), "parts": [part_body(part) for part in parts]}
        case AgentText(message_id=message_id, text=text):
            return "text", {"id": plain_text(message_id), "text": plain_text(text)}
        case AgentThought(message_id=message_id, text=text):
            return "thought", {"id": plain_text(message_id), "text": plain_text(text)}
        case Noticed(message_id=message_id, text=text, severity=severity):
            return "notice", {"id": plain_text(message_id), "text": plain_text(text), "severity": severity}
        case CallSoFar():
            return "tool", call_body(item)
        case PlanChanged(items=items):
            return "plan", {"items": [_step_body(step) for step in items]}
        case ContextUsed(used=used, size=size, cost=cost):
            return "usage", {"used": used, "size": size, "cost": plain(cost)}
        case ContextCompacted():
            return "compaction", _compaction_body(item)


def _compaction_body(event: ContextCompacted) -> dict[str, Any]:
    return {
        "id": plain_text(event.id),
        "state": event.state,
        "before": event.before,
        "after": event.after,
        "summary": plain_text(event.summary),
        "made_by": plain_text(event.made_by),
        "error": plain_text(event.error),
    }


def _step_body(step: TodoItem) -> dict[str, Any]:
    body = {"id": step.id, "content": step.content, "status": step.status, "priority": step.priority}
    return cast("dict[str, Any]", plain(body))


def _read_said(body: Body) -> Iterable[SessionEvent]:
    yield UserSaid(text_in(body, "id"), tuple(read_part(part) for part in list_in(body, "parts")))


def _read_text(body: Body) -> Iterable[SessionEvent]:
    yield AgentText(text_in(body, "id"), text_in(body, "text"))


def _read_thought(body: Body) -> Iterable[SessionEvent]:
    yield AgentThought(text_in(body, "id"), text_in(body, "text"))


def _read_notice(body: Body) -> Iterable[SessionEvent]:
    yield Noticed(text_in(body, "id"), text_in(body, "text"), _SEVERITIES[text_in(body, "severity")])


def _read_tool(body: Body) -> Iterable[SessionEvent]:
    return events_of(read_call(body))


def _read_plan(body: Body) -> Iterable[SessionEvent]:
    yield PlanChanged(tuple(read_step(step) for step in list_in(body, "items")))


def read_step(body: Body) -> TodoItem:
    """A step of a plan, as it is stored.

    Raises:
        KeyError, TypeError: it is damaged.
    """
    status, priority = _STATUSES[text_in(body, "status")], _PRIORITIES[text_in(body, "priority")]
    return TodoItem(text_in(body, "id"), text_in(body, "content"), status, priority)


def _read_usage(body: Body) -> Iterable[SessionEvent]:
    cost = body["cost"]
    if cost is not None and not isinstance(cost, int | float):
        raise TypeError("'cost' is not a number")
    yield ContextUsed(number_in(body, "used"), number_in(body, "size"), cost)


def _read_compaction(body: Body) -> Iterable[SessionEvent]:
    yield ContextCompacted(
        text_in(body, "id"),
        _STATES[text_in(body, "state")],
        number_in(body, "before"),
        number_in(body, "after"),
        text_in(body, "summary"),
        text_in(body, "made_by"),
        text_in(body, "error"),
    )


FORMS: Mapping[str, Form] = {
    "said": Form(_read_said),
    "text": Form(_read_text),
    "thought": Form(_read_thought),
    "notice": Form(_read_notice),
    "tool": Form(_read_tool),
    "plan": Form(_read_plan),
    "usage": Form(_read_usage),
    "compaction": Form(_read_compaction),
}
