"""Finished items of a turn ⇄ rows: a kind, the version of its form, and a JSON body."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from agent_core.errors import StoreError
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SaidAudio,
    SaidDocument,
    SaidImage,
    SaidLink,
    SaidPart,
    SaidText,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.quick_json import whole_text
from tools.result import ResultImage, Shown, ShownDiff, ShownOutput, ShownText, ToolResult

# Values that models and tools make up, as strict JSON holds them; and reading them back with care.
# A row must never fail because of what it holds. So this replaces what JSON or UTF-8 does not have, in the same way
# as the wire does: what is replayed then looks like what was shown live.

_MAX_DEPTH = 100
_MAX_BITS = 10_000  # Python writes no longer numbers as decimals

Body = Mapping[str, Any]


def plain_text(text: str) -> str:
    """`text` as a row holds it: `whole_text`, which every row's text passes."""
    return whole_text(text)


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON: numbers finite, keys text, bytes read as UTF-8, objects of other kinds as their text."""
    if depth > _MAX_DEPTH:
        return "… (nested too deeply)"
    match value:
        case str():
            return plain_text(value)
        case None | bool():
            return value
        case int():
            return value if value.bit_length() <= _MAX_BITS else hex(value)
        case float():
            return value if math.isfinite(value) else None
        case bytes() | bytearray():
            return value.decode("utf-8", "replace")
        case Mapping():
            return {plain_text(str(key)): plain(part, depth + 1) for key, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(part, depth + 1) for part in value]
    return plain_text(str(value))


def text_in(body: Body, key: str, default: str | None = None) -> str:
    """The text under `key`; `default` where there is none, unless that is None.

    Raises:
        KeyError, TypeError: it is missing, or no text.
    """
    value = body[key] if default is None else body.get(key, default)
    if not isinstance(value, str):
        raise TypeError(f"{key!r} is not text")
    return value


def text_or_none(body: Body, key: str) -> str | None:
    """The text under `key`, None where it is null or missing.

    Raises:
        TypeError: it is something else.
    """
    return None if body.get(key) is None else text_in(body, key)


def number_in(body: Body, key: str) -> int:
    """The whole number under `key`.

    Raises:
        KeyError, TypeError: it is missing, or no whole number.
    """
    value = body[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{key!r} is not a whole number")
    return value


def number_or_none(body: Body, key: str) -> int | None:
    """The whole number under `key`, None where it is null or missing.

    Raises:
        TypeError: it is something else.
    """
    return None if body.get(key) is None else number_in(body, key)


def mapping_in(body: Body, key: str) -> dict[str, Any]:
    """The object under `key`.

    Raises:
        KeyError, TypeError: it is missing, or no object.
    """
    value = body[key]
    if not isinstance(value, dict):
        raise TypeError(f"{key!r} is not an object")
    return value


def list_in(body: Body, key: str) -> list[dict[str, Any]]:
    """The list of objects under `key`.

    Raises:
        KeyError, TypeError: it is missing, or something else.
    """
    value = body[key]
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise TypeError(f"{key!r} is not a list of objects")
    return value


# What the person said ⇄ JSON.


def part_body(part: SaidPart) -> dict[str, Any]:
    """A piece of a prompt as JSON; what is not known is left out."""
    match part:
        case SaidText(text=text):
            return {"kind": "text", "text": plain(text)}
        case SaidImage():
            return _body("image", mime_type=part.mime_type, data=part.data, uri=part.uri or None)
        case SaidAudio():
            return _body("audio", mime_type=part.mime_type, data=part.data)
        case SaidLink():
            return _body(
                "link",
                uri=part.uri,
                name=part.name,
                mime_type=part.mime_type or None,
                title=part.title or None,
                description=part.description or None,
                size=part.size,
            )
        case SaidDocument():
            return _body("document", uri=part.uri, text=part.text, data=part.data, mime_type=part.mime_type or None)


def read_part(body: Body) -> SaidPart:
    """A piece of a prompt from its JSON.

    Raises:
        KeyError, TypeError, ValueError: it is not one.
    """
    match text_in(body, "kind"):
        case "text":
            return SaidText(text_in(body, "text"))
        case "image":
            return SaidImage(text_in(body, "mime_type"), text_in(body, "data"), text_in(body, "uri", ""))
        case "audio":
            return SaidAudio(text_in(body, "mime_type"), text_in(body, "data"))
        case "link":
            return SaidLink(
                text_in(body, "uri"),
                text_in(body, "name"),
                text_in(body, "mime_type", ""),
                text_in(body, "title", ""),
                text_in(body, "description", ""),
                number_or_none(body, "size"),
            )
        case "document":
            return SaidDocument(
                text_in(body, "uri"),
                text_or_none(body, "text"),
                text_or_none(body, "data"),
                text_in(body, "mime_type", ""),
            )
        case kind:
            raise ValueError(f"a prompt has no part {kind!r}")


def _body(kind: str, **values: object) -> dict[str, Any]:
    return {"kind": kind, **{name: plain(value) for name, value in values.items() if value is not None}}


# A tool call, from its first sight to its end, ⇄ JSON ⇄ the events that show it.


@dataclass(frozen=True, slots=True)
class CallSoFar:
    """All that is known of a tool call.

    Attributes:
        arguments: None while only the name is known.
        requested: the arguments were shown before the end.
        ran: it was allowed.
        output: what it printed while it ran.
        tail: the end of `output`, as `ToolOutput` has it.
        result: None while it is open.
        parent: the call under whose card it stands, '' for none.
        by: the sub-agent that makes it, '' for the session's own agent.
    """

    call_id: str
    name: str
    cwd: str
    arguments: Mapping[str, Any] | None = None
    requested: bool = False
    ran: bool = False
    output: str = ""
    tail: str = ""
    result: ToolResult | None = None
    parent: str = ""
    by: str = ""


def call_body(call: CallSoFar) -> dict[str, Any]:
    """A call as JSON."""
    body: dict[str, Any] = {
        "id": plain_text(call.call_id),
        "name": plain_text(call.name),
        "cwd": plain_text(call.cwd),
        "arguments": plain(call.arguments),
        "requested": call.requested,
        "ran": call.ran,
    }
    if call.output or call.tail:
        body["output"], body["tail"] = plain_text(call.output), plain_text(call.tail)
    if call.parent:
        body["parent"] = plain_text(call.parent)
    if call.by:
        body["by"] = plain_text(call.by)
    if call.result is not None:
        body["result"] = _result_body(call.result)
    return body


def read_call(body: Body) -> CallSoFar:
    """A call from its JSON.

    Raises:
        KeyError, TypeError, ValueError: it is not one.
    """
    return CallSoFar(
        call_id=text_in(body, "id"),
        name=text_in(body, "name"),
        cwd=text_in(body, "cwd"),
        arguments=None if body["arguments"] is None else mapping_in(body, "arguments"),
        requested=bool(body["requested"]),
        ran=bool(body["ran"]),
        output=text_in(body, "output", ""),
        tail=text_in(body, "tail", ""),
        result=None if body.get("result") is None else _read_result(mapping_in(body, "result")),
        parent=text_in(body, "parent", ""),
        by=text_in(body, "by", ""),
    )


def events_of(call: CallSoFar) -> Iterator[SessionEvent]:
    """What shows the call as it stands; `ToolRunning` only while it is open, since the end says it too."""
    arguments = call.arguments or {}
    if call.requested:
        yield ToolRequested(call.call_id, call.name, arguments, call.cwd, False, call.parent, call.by)
    else:
        yield ToolAnnounced(call.call_id, call.name, call.cwd, call.parent)
    if call.ran and call.result is None:
        yield ToolRunning(call.call_id, call.name, arguments, call.cwd, call.by)
    if call.output or call.tail:
        yield ToolOutput(call.call_id, call.output, call.tail, call.name, arguments)
    if call.result is not None:
        yield ToolFinished(call.call_id, call.name, arguments, call.cwd, call.result, call.ran, by=call.by)


def _result_body(result: ToolResult) -> dict[str, Any]:
    body: dict[str, Any] = {"text": plain_text(result.text), "failed": result.failed}
    if result.shown:
        body["shown"] = [_shown_body(shown) for shown in result.shown]
    if result.facts:
        body["facts"] = plain(result.facts)
    if result.images:
        body["images"] = [_image_body(image) for image in result.images]
    return body


def _image_body(image: ResultImage) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"mime_type": plain_text(image.mime_type), "name": plain_text(image.name), "data": data}


def _shown_body(shown: Shown) -> dict[str, Any]:
    match shown:
        case ShownText(text=text, language=language):
            return {"kind": "text", "text": plain(text), "language": plain(language)}
        case ShownDiff(path=path, before=before, after=after):
            return {"kind": "diff", "path": plain(str(path)), "before": plain(before), "after": plain(after)}
        case ShownOutput(output=output, exit_code=code, signal=signal):
            return {"kind": "output", "output": plain(output), "exit_code": code, "signal": plain(signal)}


def _read_result(body: Body) -> ToolResult:
    return ToolResult(
        text=text_in(body, "text"),
        shown=tuple(_read_shown(shown) for shown in list_in(body, "shown")) if "shown" in body else (),
        facts=mapping_in(body, "facts") if "facts" in body else {},
        failed=bool(body["failed"]),
        images=tuple(_read_image(image) for image in list_in(body, "images")) if "images" in body else (),
    )


def _read_image(body: Body) -> ResultImage:
    data = base64.b64decode(text_in(body, "data"), validate=True)
    return ResultImage(data, text_in(body, "mime_type"), text_in(body, "name"))


def _read_shown(body: Body) -> Shown:
    match text_in(body, "kind"):
        case "text":
            return ShownText(text_in(body, "text"), text_or_none(body, "language"))
        case "diff":
            return ShownDiff(Path(text_in(body, "path")), text_or_none(body, "before"), text_or_none(body, "after"))
        case "output":
            return ShownOutput(
                text_in(body, "output"), number_or_none(body, "exit_code"), text_or_none(body, "signal")
            )
        case kind:
            raise ValueError(f"a result shows no {kind!r}")


# A new version of a kind is a new function in its `upgrades`: from the last version's body to its own. What earlier
# programs wrote is lifted step by step to the newest form, and read as that.

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
