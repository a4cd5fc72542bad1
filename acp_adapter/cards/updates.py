"""The updates of a card's life: it is made, runs, prints, and ends (ACP v1, tool calls)."""

from __future__ import annotations

from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.cards.blocks import image_block, live_block, saved_blocks, shown_block, terminal_block, text_block
from acp_adapter.cards.looks import card_details, look_of
from acp_adapter.cards.places import found_places
from agent_core.calls.live_output import readable_error
from agent_core.events import TerminalShown, ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from agent_core.messages import is_interrupted
from tools.result import ShownOutput

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
