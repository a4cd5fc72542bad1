"""A stored session as the events that show it again: what a client saw live, and how each turn came to its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from agent_core.calls.live_output import with_tail
from agent_core.events import (
    AgentText,
    ContextUsed,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
)
from agent_core.messages import INTERRUPTED_RESULT, parse_arguments
from agent_core.sessions.events.message_events import events_from_messages
from agent_core.sessions.records import StoredEvent, StoredMessage, Transcript, TurnRecord
from tools.result import ToolResult, error

_INTERRUPTED = "*This turn was interrupted: hermes-acp ended before it was finished. Send a prompt to go on.*"
_GOES_ON = "*This turn is still running in another process. Load the session again later to see the rest.*"
_CUT_OFF = ToolResult(INTERRUPTED_RESULT, failed=True)
_STILL_RUNNING = error("This call was still running in another process when the session was loaded.")

_OfTurn = TypeVar("_OfTurn", StoredEvent, StoredMessage)


def replayed(transcript: Transcript, *, is_running: bool = False) -> Iterator[SessionEvent]:
    """All events that show the session, in order; the plan and the use of the window come last, as they stand.

    A turn that was not taken down (the agent was used as a library) is made up from its messages.

    Args:
        is_running: the last turn, if it has not ended, goes on in another process: it is not called interrupted.
            Its open calls come to an end all the same, since nobody will tell of their real one.
    """
    events, messages = _by_turn(transcript.events), _by_turn(transcript.messages)
    turns = _turns(transcript, {*events, *messages})
    plan: PlanChanged | None = None
    used: ContextUsed | None = None
    for turn in turns:
        goes_on = is_running and turn is turns[-1] and turn.ended_at is None
        open_end = _STILL_RUNNING if goes_on else _CUT_OFF
        if turn.number in events:
            happened = _stored(events[turn.number], messages.get(turn.number, ()), open_end)
        else:
            said = [stored.message for stored in messages.get(turn.number, ()) if stored.hidden != "undone"]
            happened = events_from_messages(said, turn.id, transcript.session.cwd, open_end.text)
        last: SessionEvent | None = None
        for event in happened:
            match event:
                case PlanChanged():
                    plan = event
                case ContextUsed():
                    used = event
                case _:
                    last = event
                    yield event
        yield from _ending(turn, goes_on=goes_on, after_text=isinstance(last, AgentText))
    if plan is not None and plan.items:
        yield plan
    if used is not None:
        yield used


def _by_turn(stored: Iterable[_OfTurn]) -> dict[int, list[_OfTurn]]:
    found: defaultdict[int, list[_OfTurn]] = defaultdict(list)
    for one in stored:
        found[one.turn].append(one)
    return dict(found)


def _turns(transcript: Transcript, used: set[int]) -> Sequence[TurnRecord]:
    """The turns in order. What was saved from a damaged database may belong to one whose record is lost."""
    lost = used - {turn.number for turn in transcript.turns}
    made_up = [
        TurnRecord(number, f"{transcript.session.id}-{number}", 0.0, ended_at=0.0, outcome="") for number in lost
    ]
    found = [turn for turn in transcript.turns if not turn.undone]
    return sorted((*found, *made_up), key=lambda turn: turn.number)


def _stored(
    stored: Iterable[StoredEvent], messages: Sequence[StoredMessage], open_end: ToolResult
) -> Iterator[SessionEvent]:
    for one in stored:
        events = tuple(_with_arguments(one.events, messages)) if one.open else one.events
        yield from events
        if one.open:
            yield from _broken_off(events, open_end)


def _with_arguments(events: Sequence[SessionEvent], messages: Sequence[StoredMessage]) -> Iterator[SessionEvent]:
    """The events of a call that broke off; what it was asked to do is known from the answer that called it."""
    for event in events:
        yield event
        if isinstance(event, ToolAnnounced) and (found := _arguments_of(event.call_id, messages)) is not None:
            yield ToolRequested(event.call_id, event.name, found, event.cwd, announced=True, parent=event.parent)


def _arguments_of(call_id: str, messages: Sequence[StoredMessage]) -> dict[str, Any] | None:
    """None where no answer with the call is stored, or they cannot be read."""
    for stored in messages:
        for call in stored.message.get("tool_calls", ()):
            if call["id"] == call_id:
                with suppress(ValueError):
                    return parse_arguments(call["function"]["arguments"])
    return None


def _broken_off(events: Sequence[SessionEvent], result: ToolResult) -> Iterator[ToolFinished]:
    """The end of a call that has none, as the turn would have shown it had it been cancelled there."""
    call: ToolAnnounced | ToolRequested | ToolRunning | None = None
    tail = ""
    for event in events:
        match event:
            case ToolAnnounced() | ToolRequested() | ToolRunning():
                call = event
            case ToolOutput():
                tail = event.tail
            case ToolFinished():
                return
    if call is not None:
        arguments = {} if isinstance(call, ToolAnnounced) else call.arguments
        ran, by = isinstance(call, ToolRunning), "" if isinstance(call, ToolAnnounced) else call.by
        yield ToolFinished(call.call_id, call.name, arguments, call.cwd, with_tail(result, tail), ran, by=by)


def _ending(turn: TurnRecord, *, goes_on: bool, after_text: bool) -> Iterator[AgentText]:
    """What must be said about how the turn ended; a client may draw it together with text right before it."""
    gap = "\n\n" if after_text else ""
    if goes_on:
        yield AgentText(f"{turn.id}-running", f"{gap}{_GOES_ON}")
    elif turn.ended_at is None:
        yield AgentText(f"{turn.id}-interrupted", f"{gap}{_INTERRUPTED}")
    elif turn.outcome == "error":
        told = f"**This turn failed:** {turn.note}" if turn.note else "**This turn failed.**"
        yield AgentText(f"{turn.id}-failed", f"{gap}{told}")
