"""Session events to `session/update`, live and when a session is loaded; the updates of tool calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, assert_never

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.content import said_block
from acp_adapter.options import option_list
from acp_adapter.tools import (
    card_details,
    found_places,
    image_block,
    live_block,
    look_of,
    saved_blocks,
    shown_block,
    terminal_block,
    text_block,
)
from agent_core.events import (
    AgentText,
    AgentThought,
    Command,
    CommandsOffered,
    ContextCompacted,
    ContextUsed,
    ModeChanged,
    Noticed,
    OptionsOffered,
    OwnTurn,
    PlanChanged,
    SessionEvent,
    SessionNamed,
    TerminalShown,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
    readable_error,
)
from agent_core.messages import is_interrupted
from agent_core.sessions.records import SessionPage, SessionRecord, Transcript
from agent_core.sessions.replay import replayed
from tools.context import TodoItem
from tools.result import ShownOutput

# What the editor has been sent, as far as the next update depends on it.

_FINAL = frozenset({"completed", "failed"})
_NAMING = frozenset({"sessionUpdate", "toolCallId", "_meta"})
_UNKNOWN = object()
_GAP = "\n\n"
_OWN = ("title", "kind", "rawInput", "locations")


class CardFields:
    """The fields of one session's open cards as they were last sent. Safe to use from several threads.

    (ACP v1, tool calls: an update carries only the fields that change. The status is repeated all the same: a popular
    extension takes an update without one for the end of the call.)

    It also keeps a message from beginning in the middle of another's line: many clients run together whatever text
    comes, and a notice would read as a part of the answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[str, dict[str, Any]] = {}
        # The message whose text was sent last, and how that ends.
        self._message: object = None
        self._end = _GAP
        self._before_question: dict[str, dict[str, Any]] = {}

    def trim(self, update: dict[str, Any]) -> dict[str, Any] | None:
        """`update` without what the editor has already; None where nothing is left to send."""
        with self._lock:
            match update.get("sessionUpdate"):
                case "tool_call":
                    self._end = _GAP
                    self._sent[update["toolCallId"]] = _fields(update)
                case "tool_call_update":
                    return self._changed(update)
                case "agent_message_chunk":
                    return self._apart(update)
                case "user_message_chunk" | "plan":
                    self._end = _GAP
        return update

    def prompted(self) -> None:
        """The person has said something, which the editor shows by itself: what comes next is behind that."""
        with self._lock:
            self._end = _GAP

    def ask(self, call: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """What a permission question with these fields of a card sends: first an update of the card, then itself.

        Some clients show the question's fields, some only the card's. So both have them, and what the question has
        put on the card is known: the update that follows takes its title back.

        Returns:
            the update, None where the card is not open or has all that; and the question's `toolCall`. A call that
            runs already goes on running, and a terminal stays, unless there are changes to show.
        """
        card = dict(call)
        with self._lock:
            sent = self._sent.get(str(call.get("toolCallId")))
            if sent is None:
                return None, card
            card["status"] = sent.get("status", card["status"])
            if _has(sent.get("content"), "terminal") and not _has(card["content"], "diff"):
                card["content"] = sent["content"]
            sent.setdefault("locations", [])
            call_id = card["toolCallId"]
            before = self._before_question.pop(call_id, None) or {name: sent[name] for name in _OWN if name in sent}
            update = self._changed({"sessionUpdate": "tool_call_update", **card})
            self._before_question[call_id] = before
            return update, card

    def _changed(self, update: dict[str, Any]) -> dict[str, Any] | None:
        call_id = update["toolCallId"]
        sent = self._sent.get(call_id)
        if sent is None:
            return update
        before = self._before_question.pop(call_id, {})
        update = {**update, **{name: value for name, value in before.items() if name not in update}}
        fields = _fields(update)
        new = {name: value for name, value in fields.items() if sent.get(name, _UNKNOWN) != value}
        if fields.get("status") in _FINAL:
            del self._sent[call_id]
        else:
            sent.update(new)
        if not new and "_meta" not in update:
            return None
        head = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": sent.get("status", "pending")}
        return head | {name: value for name, value in update.items() if name in _NAMING or name in new}

    def _apart(self, update: dict[str, Any]) -> dict[str, Any]:
        """The update with a blank line before its text, where another message's line would go on with it."""
        message, content = update.get("messageId"), update["content"]
        text = content.get("text", "")
        if not text:
            return update
        gap = "" if message == self._message else _GAP.removeprefix(self._end[len(self._end.rstrip("\n")) :])
        gap = gap[len(text) - len(text.lstrip("\n")) :]
        self._message, self._end = message, (self._end + text)[-len(_GAP) :]
        return {**update, "content": {**content, "text": gap + text}} if gap else update


def _fields(card: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name not in _NAMING}


def _has(content: object, kind: str) -> bool:
    return isinstance(content, list) and any(item.get("type") == kind for item in content)


# The updates of a tool call: it is made, runs, prints, and ends (ACP v1, tool calls).

Update = dict[str, Any]


def requested_call(event: ToolAnnounced | ToolRequested, client: ClientCapabilities) -> Update:
    """The card of a call that waits: made at its first sight, completed when its arguments are known."""
    look = look_of(event.name)
    if isinstance(event, ToolAnnounced):
        known = card_details(event.name, event.arguments, event.cwd) if event.arguments else {}
        known.pop("rawInput", None)  # it is told once it is whole
        return _create(event, client, {"title": look.waiting, **known})
    details = card_details(event.name, event.arguments, event.cwd, event.by)
    if opening := look.opening(event.arguments):
        details["content"] = opening
    return _update(event.call_id, **details) if event.announced else _create(event, client, details)


def running_call(event: ToolRunning, client: ClientCapabilities) -> Update:
    """The card of a call that runs, with its own details again: a question may have put its own in their place."""
    details = card_details(event.name, event.arguments, event.cwd, event.by)
    if client.terminal_output and look_of(event.name).result == "terminal":
        details["content"] = [terminal_block(terminal_id(event.call_id))]
    return _update(event.call_id, status="in_progress", **details)


def live_output(event: ToolOutput, client: ClientCapabilities) -> Update:
    """What a running tool prints: new text for a card with a live terminal, else a picture of the last lines."""
    if client.terminal_output and look_of(event.name).result == "terminal":
        printed = {"terminal_id": terminal_id(event.call_id), "data": event.text}
        return _update(event.call_id, _meta={"terminal_output": printed})
    return _update(
        event.call_id, content=[*look_of(event.name).while_running(event.arguments), live_block(event.tail)]
    )


def in_terminal(event: TerminalShown) -> Update:
    """The card of a command that runs in the editor's own terminal, which is all that it shows then.

    Nothing is told of the terminal that the card may have begun with: no command ran in it, so none has ended there.
    """
    return _update(event.call_id, content=[terminal_block(event.terminal_id)])


def finished_call(event: ToolFinished, client: ClientCapabilities) -> list[Update]:
    """The last update of a card: its status, what came of it, and where."""
    result = event.result
    update = _update(event.call_id, status="failed" if result.failed else "completed")
    if result.failed:
        # A question that was refused has left its reason in the title and in the raw input.
        update |= card_details(event.name, event.arguments, event.cwd, event.by)
    if result.facts:
        update["rawOutput"] = dict(result.facts)
        if places := found_places(result.facts):
            update["locations"] = places
    look = look_of(event.name)
    if event.in_terminal or (look.result == "elsewhere" and not result.failed):
        return [update]
    if look.result == "terminal" and client.terminal_output and (ended := _terminal_end(event)):
        return [{**update, "_meta": {"terminal_exit": ended}}]
    return [{**update, "content": _content(event)}]


def terminal_id(call_id: str) -> str:
    """The id of the terminal that shows a call's output."""
    return f"terminal-{call_id}"


def _create(event: ToolAnnounced | ToolRequested, client: ClientCapabilities, details: Update) -> Update:
    look, call_id = look_of(event.name), event.call_id
    card = {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "name": event.name,
        "kind": look.kind,
        "status": "pending",
        **details,
    }
    if event.parent:
        card["_meta"] = {"hermes": {"parentToolCallId": event.parent}}
    if not client.terminal_output:
        return card
    card["_meta"] = {**card.get("_meta", {}), "tool_name": event.name}  # the same clients read the name there
    if look.result == "terminal":
        card["content"] = [terminal_block(terminal_id(call_id))]
        card["_meta"]["terminal_info"] = {"terminal_id": terminal_id(call_id), "cwd": event.cwd}
    return card


def _update(call_id: str, **fields: Any) -> Update:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}


def _terminal_end(event: ToolFinished) -> Update | None:
    """How the command in the card's terminal ended; None where there is another reason to tell than its output."""
    output = next((shown for shown in event.result.shown if isinstance(shown, ShownOutput)), None)
    if not event.ran or (output is None and not is_interrupted(event.result.text)):
        return None
    code, signal = (None, None) if output is None else (output.exit_code, output.signal)
    return {"terminal_id": terminal_id(event.call_id), "exit_code": code, "signal": signal}


def _content(event: ToolFinished) -> list[Update]:
    result = event.result
    look = look_of(event.name)
    opening = look.opening(event.arguments) if result.failed or look.keeps_opening else []
    told = [shown_block(shown) for shown in result.shown]
    if not told:
        told = [text_block(readable_error(result.text), None if result.failed else "")]
    return [*opening, *told, *map(image_block, result.images), *saved_blocks(result.facts)]


# From session events to ACP `session/update` payloads: one pure function, for the live turn and for replay alike.
# It is the only place that knows how events look on the wire; another protocol version changes this part alone.
# Updates are plain data, so that this needs no SDK and can say what its models cannot.

Standing = ModeChanged | OptionsOffered | SessionNamed | CommandsOffered | OwnTurn

_STATUS = {"running": "in_progress", "done": "completed", "failed": "failed", "cancelled": "cancelled"}
_PLAN_STATUS = {"cancelled": "completed"}


def project(event: SessionEvent, client: ClientCapabilities) -> list[Update]:
    """The updates that show `event` to this client, in order (ACP v1, prompt-turn and tool-calls sections)."""
    match event:
        case UserSaid(message_id=message_id, parts=parts):
            return [
                {"sessionUpdate": "user_message_chunk", "messageId": message_id, "content": said_block(part)}
                for part in parts
            ]
        case AgentText(message_id=message_id, text=text) | AgentThought(message_id=message_id, text=text):
            kind = "agent_message_chunk" if isinstance(event, AgentText) else "agent_thought_chunk"
            return [{"sessionUpdate": kind, "messageId": message_id, "content": {"type": "text", "text": text}}]
        case Noticed(message_id=message_id, text=text, severity=severity):
            return [_notice(text, severity) if client.notices else _message(message_id, f"{text.rstrip()}\n\n")]
        case ToolAnnounced() | ToolRequested():
            return [requested_call(event, client)]
        case ToolRunning() | ToolOutput() | TerminalShown():
            return [_running(event, client)]
        case ToolFinished():
            return finished_call(event, client)
        case PlanChanged(items=items):
            return [{"sessionUpdate": "plan", "entries": [*map(_entry, items)]}]
        case ContextUsed(used=used, size=size, cost=cost):
            spent = {} if cost is None else {"cost": {"amount": round(cost, 6), "currency": "USD"}}
            return [{"sessionUpdate": "usage_update", "used": used, "size": size, **spent}]
        case ContextCompacted():
            return list(_compaction(event, client))
        case _:
            return [_standing(event, client)]


def _running(event: ToolRunning | ToolOutput | TerminalShown, client: ClientCapabilities) -> Update:
    match event:
        case ToolRunning():
            return running_call(event, client)
        case ToolOutput():
            return live_output(event, client)
        case TerminalShown():
            return in_terminal(event)


def _standing(event: Standing, client: ClientCapabilities) -> Update:
    """How the session stands, whatever turn runs."""
    match event:
        case ModeChanged(mode=mode):
            return {"sessionUpdate": "current_mode_update", "currentModeId": mode}
        case OptionsOffered(options=options):
            return {"sessionUpdate": "config_option_update", "configOptions": option_list(options, client)}
        case SessionNamed(title=title, updated_at=updated_at):
            named = {} if title is None else {"title": title}
            return {"sessionUpdate": "session_info_update", **named, "updatedAt": iso_time(updated_at)}
        case CommandsOffered(commands=commands):
            return {"sessionUpdate": "available_commands_update", "availableCommands": [*map(_command, commands)]}
        case OwnTurn(state=state, stop=stop):
            told = {"state": state, **({"stopReason": stop} if stop else {})}
            return {"sessionUpdate": "session_info_update", "_meta": {"hermes": {"backgroundTurn": told}}}
        case _:
            assert_never(event)


def iso_time(seconds: float) -> str:
    """A time in seconds since the epoch, as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _message(message_id: str, text: str) -> Update:
    content = {"type": "text", "text": text}
    return {"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": content}


def _compaction(event: ContextCompacted, client: ClientCapabilities) -> Iterator[Update]:
    """(ACP v1, prompt-turn: session compaction.) The figures are told in words: the update has no place for them."""
    if client.compaction:
        update: Update = {
            "sessionUpdate": "compaction_update",
            "compactionId": event.id,
            "status": _STATUS[event.state],
        }
        if event.state == "done" and event.summary:
            update["summary"] = [{"type": "text", "text": event.summary}]
        if event.state == "failed":
            update["error"] = event.told
        yield update
    if event.state == "done" or not client.compaction:
        content = {"type": "text", "text": f"{event.told}\n"}
        yield {"sessionUpdate": "agent_thought_chunk", "messageId": f"{event.id}-note", "content": content}


def _notice(text: str, severity: str) -> Update:
    """(ACP, session notices.) The first sentence can stand alone."""
    title, _, rest = text.strip().partition(". ")
    more = {"description": rest} if rest else {}
    return {"sessionUpdate": "notice", "severity": severity, "title": title, **more}


def _entry(item: TodoItem) -> dict[str, Any]:
    status = _PLAN_STATUS.get(item.status, item.status)
    return {"content": item.content, "priority": item.priority, "status": status}


def _command(command: Command) -> dict[str, Any]:
    hint = {"input": {"hint": command.hint}} if command.hint else {}
    return {"name": command.name, "description": command.description, **hint}


def bare(event: SessionEvent) -> list[Update]:
    """What must be sent of `event` even where showing it failed: a card begins, and a card ends."""
    match event:
        case ToolAnnounced(call_id=call_id, name=name) | ToolRequested(call_id=call_id, name=name, announced=False):
            return [{"sessionUpdate": "tool_call", "toolCallId": call_id, "status": "pending", "title": name}]
        case ToolFinished(call_id=call_id, result=result):
            status = "failed" if result.failed else "completed"
            return [{"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status}]
    return []


# A stored session as the updates that show it again; its list as `session/list` answers it.

log = logging.getLogger(__name__)


def replay_params(
    transcript: Transcript,
    mode: str,
    client: ClientCapabilities,
    commands: CommandsOffered,
    *,
    runs_elsewhere: bool,
    call_ids: set[str],
) -> Iterator[dict[str, Any]]:
    """The parameters of each `session/update` that shows a stored session: what happened, then how it stands.

    (ACP v1, session setup: all of them are sent before `session/load` is answered.)

    Args:
        call_ids: gets those of the cards.
    """
    session, cards = transcript.session, CardFields()
    for event in (*replayed(transcript, is_running=runs_elsewhere), *standing(session, mode, commands)):
        for update in updates_of(event, client):
            new = cards.trim(update)
            if new is not None:
                if new["sessionUpdate"] == "tool_call":
                    call_ids.add(new["toolCallId"])
                yield {"sessionId": session.id, "update": new}


def standing(session: SessionRecord, mode: str, commands: CommandsOffered) -> tuple[SessionEvent, ...]:
    """How a session stands: commands, mode with options, title."""
    return commands, ModeChanged(mode), SessionNamed(session.title, session.updated_at)


def updates_of(event: SessionEvent, client: ClientCapabilities) -> list[dict[str, Any]]:
    """The updates of an event, whatever is wrong with what it should show: a card must still begin and end."""
    try:
        return project(event, client)
    except Exception:
        log.exception("an event could not be shown as it should")
        return bare(event)


def list_result(page: SessionPage, cwd: str | None) -> dict[str, Any]:
    """The answer to `session/list`.

    Args:
        cwd: the directory that was asked for. When they were stored it may have been spelled otherwise; clients
            compare it with what they asked for.
    """
    cursor = {} if page.next_cursor is None else {"nextCursor": page.next_cursor}
    own = {} if cwd is None else {"cwd": cwd}
    return {"sessions": [{**_info(session), **own} for session in page.sessions], **cursor}


def _info(session: SessionRecord) -> dict[str, Any]:
    info: dict[str, Any] = {"sessionId": session.id, "cwd": session.cwd, "updatedAt": iso_time(session.updated_at)}
    if session.title:
        info["title"] = session.title
    if session.roots:
        info["additionalDirectories"] = list(session.roots)
    return info
