"""From session events to ACP `session/update` payloads: one pure function, for the live turn and for replay alike.

It is the only place that knows how events look on the wire; another protocol version changes this module alone.
Updates are plain data, so that this needs no SDK and can say what its models cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, assert_never

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.cards.updates import finished_call, in_terminal, live_output, requested_call, running_call
from acp_adapter.option_list import option_list
from acp_adapter.said import said_block
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
)
from tools.context import TodoItem

Update = dict[str, Any]
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
