"""Tool calls of a story, from the events that showed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acp_adapter.export.story import Card, CardStatus
from acp_adapter.tools import card_details, look_of
from agent_core.calls.live_output import readable_error
from agent_core.events import ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from agent_core.messages import INTERRUPTED_RESULT, is_interrupted
from agent_core.sessions.records import StoredEvent
from tools.result import Shown, ShownOutput, ShownText, ToolResult


def card_of_events(stored: StoredEvent, answered_at: Mapping[str, float]) -> Card | None:
    """The card that these events made; None where they are of no tool call.

    Args:
        answered_at: when each call's result was stored, by the call's id.
    """
    call_id = name = cwd = printed = ""
    arguments: Mapping[str, Any] = {}
    result: ToolResult | None = None
    for event in stored.events:
        match event:
            case ToolAnnounced(call_id=call_id, name=name, cwd=cwd):
                pass
            case ToolRequested() | ToolRunning():
                call_id, name, cwd, arguments = event.call_id, event.name, event.cwd, event.arguments
            case ToolOutput():
                printed += event.text
            case ToolFinished(call_id=call_id, name=name, cwd=cwd, arguments=arguments, result=result):
                pass
    if not name:
        return None
    if result is None:
        result = ToolResult(INTERRUPTED_RESULT, (ShownOutput(printed),) if printed else (), failed=True)
    ended_at = answered_at.get(call_id)
    seconds = None if ended_at is None else max(0.0, ended_at - stored.created_at)
    return _card(name, arguments, cwd, result, seconds)


def _card(name: str, arguments: Mapping[str, Any], cwd: str, result: ToolResult, seconds: float | None) -> Card:
    details = card_details(name, arguments, cwd)
    title = details["title"] if arguments else look_of(name).waiting
    return Card(name, details["kind"], title, _status(result), cwd, arguments, _shown(name, result), seconds)


def _status(result: ToolResult) -> CardStatus:
    if not result.failed:
        return "completed"
    return "interrupted" if is_interrupted(result.text) else "failed"


def _shown(name: str, result: ToolResult) -> tuple[Shown, ...]:
    if look_of(name).result == "elsewhere" and not result.failed:
        return ()
    if result.shown or not result.text:
        return result.shown
    return (ShownText(readable_error(result.text), None if result.failed else ""),)
