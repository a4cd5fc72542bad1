"""A stored session as the events that show it again: what a client saw live, and how each turn came to its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
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
    audio_mime,
    with_tail,
)
from agent_core.messages import (
    INTERRUPTED_RESULT,
    Content,
    Message,
    Part,
    ToolCall,
    arguments_of,
    parse_arguments,
    said_in,
    text_of,
)
from agent_core.sessions.records import StoredEvent, StoredMessage, Transcript, TurnRecord
from agent_core.tool_calls import images_in
from tools.result import ToolResult, error, from_text
from tools.toolsets import meant

# What happened in a turn that was not taken down, made up from what the model saw and said.


def events_from_messages(
    messages: Sequence[Message], turn_id: str, cwd: str, open_end: str = INTERRUPTED_RESULT
) -> Iterator[SessionEvent]:
    """The events of one turn's messages, in order; calls follow the answer that made them.

    Args:
        turn_id: the beginning of each message id.
        cwd: the session's directory.
        open_end: the result of a call that has none.
    """
    prompts = answers = 1
    results = _results(messages)
    for message in messages:
        if message["role"] == "user" and not message.get("injected"):
            yield UserSaid(f"{turn_id}-user-{prompts}", tuple(_said(said_in(message))))
            prompts += 1
        if message["role"] != "assistant":
            continue
        if reasoning := message.get("reasoning"):
            yield AgentThought(f"{turn_id}-thought-{answers}", reasoning)
        if text := text_of(message["content"]):
            yield AgentText(f"{turn_id}-message-{answers}", text)
        for call in message.get("tool_calls", ()):
            yield from _call(call, cwd, results.get(call["id"]) or ToolResult(open_end, failed=True))
        if not message.get("unfinished"):
            answers += 1


def _results(messages: Iterable[Message]) -> dict[str, ToolResult]:
    return {
        message["tool_call_id"]: replace(_result(message), images=images_in(message))
        for message in messages
        if message["role"] == "tool" and "tool_call_id" in message
    }


def _result(message: Message) -> ToolResult:
    text = text_of(message["content"])
    outcome = message.get("outcome")
    if outcome is None:
        return from_text(text)
    facts = {name: value for name, value in outcome.items() if name != "failed"}
    return ToolResult(text, facts=facts, failed=bool(outcome.get("failed")))


def _call(call: ToolCall, cwd: str, result: ToolResult) -> Iterator[SessionEvent]:
    name, arguments = meant(call["function"]["name"], arguments_of(call))
    yield ToolRequested(call["id"], name, arguments, cwd, announced=False)
    yield ToolFinished(call["id"], name, arguments, cwd, result)


def _said(content: Content | None) -> Iterator[SaidPart]:
    if content is None or isinstance(content, str):
        yield SaidText(content or "")
        return
    for part in content:
        yield _said_part(part)


def _said_part(part: Part) -> SaidPart:
    match part["type"]:
        case "text":
            return SaidText(part["text"])
        case "image_url":
            url = part["image_url"]["url"]
            kind, data = _data_of(url)
            return SaidLink(url, "image") if data is None else SaidImage(kind, data)
        case "file":
            name = part["file"]["filename"]
            kind, data = _data_of(part["file"]["file_data"])
            return SaidDocument(name, None, data or "", kind)
        case "input_audio":
            return SaidAudio(audio_mime(part["input_audio"]["format"]), part["input_audio"]["data"])


def _data_of(url: str) -> tuple[str, str | None]:
    """Media type and base64 text of a data URL; None for another URL."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return "", None
    return head.removeprefix("data:").split(";")[0], data


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
