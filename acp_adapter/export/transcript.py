"""A stored session as a reader meets it: turns, and what was said and done in each; or a trajectory to train with."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from acp_adapter.format import count, dollars, duration, whole
from acp_adapter.tools import card_details, look_of
from agent_core.batch.trajectories import conversations
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    ModeChanged,
    Noticed,
    PlanChanged,
    SaidPart,
    SaidText,
    SessionEvent,
    SessionNamed,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
    readable_error,
)
from agent_core.messages import INTERRUPTED_RESULT, is_interrupted
from agent_core.providers.base import Usage
from agent_core.sessions.records import (
    COMMAND,
    COMPACTED,
    RESET,
    SessionRecord,
    StoredEvent,
    StoredMessage,
    Transcript,
    TurnRecord,
)
from agent_core.sessions.replay import events_from_messages
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.redaction import Redact, redact
from tools.result import Shown, ShownOutput, ShownText, ToolResult

CardStatus = Literal["completed", "failed", "interrupted"]
SIGNS: dict[CardStatus, str] = {"completed": "✓", "failed": "✗", "interrupted": "–"}
BOXES = {"completed": "[x]", "in_progress": "[>]", "cancelled": "[-]", "pending": "[ ]"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the person sent."""

    parts: tuple[SaidPart, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent wrote, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought, or a note of the agent's."""

    text: str


@dataclass(frozen=True, slots=True)
class Card:
    """A tool call.

    Attributes:
        kind: the ACP tool kind: read, edit, execute, …
        shown: what came of it, for the person.
        seconds: how long it took, with the wait for a permission; None if that is not known.
    """

    name: str
    kind: str
    title: str
    status: CardStatus
    cwd: str
    arguments: Mapping[str, Any]
    shown: tuple[Shown, ...] = ()
    seconds: float | None = None

    @property
    def facts(self) -> list[str]:
        """How it ended, unless well, and how long it took."""
        facts: list[str] = [] if self.status == "completed" else [self.status]
        codes = [shown.exit_code for shown in self.shown if isinstance(shown, ShownOutput)][:1]
        facts += [f"exit {code}" for code in codes if code]
        return facts if self.seconds is None else [*facts, duration(self.seconds)]

    @property
    def command(self) -> str:
        """The command that it ran; '' for what runs none."""
        command = self.arguments.get("command")
        return command.strip() if self.kind == "execute" and isinstance(command, str) else ""

    @property
    def told_arguments(self) -> str:
        """Its arguments as JSON, where neither the title nor what came of it tells them; else ''."""
        if self.command or not self.arguments or (self.kind != "other" and self.status == "completed"):
            return ""
        return json.dumps(dict(self.arguments), indent=2, ensure_ascii=False, default=str)

    def place(self, path: Path) -> str:
        """A file as it is called from the folder that the call was made in."""
        return os.path.relpath(path, self.cwd) if path.is_relative_to(self.cwd) else str(path)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan as it was then."""

    items: tuple[TodoItem, ...]


@dataclass(frozen=True, slots=True)
class Mode:
    """From here on, the session's permission mode is another."""

    mode: str


Item = Prompt | Answer | Thought | Card | Plan | Mode


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and all that came of it.

    Attributes:
        outcome: the stop reason, «error», or None if it never ended.
        note: for an error, what the person was told.
        seconds: from the prompt to the end, or to the last thing that is known.
        tokens: by how much the conversation grew; 0 if that is not known.
        cost: US dollars; None if that is not known.
    """

    number: int
    began_at: float
    outcome: str | None
    note: str
    items: tuple[Item, ...]
    seconds: float
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Story:
    """The session and its turns. `title` is never empty."""

    session: SessionRecord
    title: str
    turns: tuple[Turn, ...]


# Tool calls, from the events that showed them.


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


# The events of each turn, or its messages where there are no events, as a story.

_LONGEST_TITLE = 80


def tell(transcript: Transcript) -> Story:
    """The story of a session. Messages that the model refused are in it, as the person saw them."""
    events: defaultdict[int, list[StoredEvent]] = defaultdict(list)
    messages: defaultdict[int, list[StoredMessage]] = defaultdict(list)
    for event in transcript.events:
        events[event.turn].append(event)
    for message in transcript.messages:
        messages[message.turn].append(message)
    turns: list[Turn] = []
    # A turn's tokens are those by which the model's window filled, where that was told before and after it.
    before: ContextUsed | None = ContextUsed(0, 0, 0.0)
    for record in sorted(transcript.turns, key=lambda record: record.number):
        said = messages[record.number]
        rows = _happened(record, events[record.number], said, transcript.session.cwd)
        after = _last_told(rows)
        turns.append(_turn(record, rows, said, before, after))
        before = after
    title = transcript.session.title or _title(turns)
    return Story(transcript.session, title, tuple(turns))


def _turn(
    record: TurnRecord,
    rows: Sequence[StoredEvent],
    messages: Sequence[StoredMessage],
    before: ContextUsed | None,
    after: ContextUsed | None,
) -> Turn:
    tokens, cost, end = 0, None, record.ended_at
    if before is not None and after is not None:
        tokens = max(0, after.used - before.used)
        if before.cost is not None and after.cost is not None:
            cost = max(0.0, after.cost - before.cost)
    if end is None:
        end = max([record.began_at, *(row.created_at for row in rows), *(each.created_at for each in messages)])
    seconds = max(0.0, end - record.began_at)
    items = tuple(_items(rows, messages))
    return Turn(record.number, record.began_at, record.outcome, record.note, items, seconds, tokens, cost)


def _happened(
    record: TurnRecord, events: Sequence[StoredEvent], messages: Sequence[StoredMessage], cwd: str
) -> list[StoredEvent]:
    """The turn's events in order; from its messages comes what no event tells of."""
    stored = sorted(events, key=lambda event: event.position)
    told = any(isinstance(event, UserSaid) for row in stored for event in row.events)
    if stored and told:
        return stored
    made_up = _made_up(record, messages, cwd)
    if not stored:
        return made_up
    return [row for row in made_up if isinstance(row.events[0], UserSaid)] + stored


def _made_up(record: TurnRecord, messages: Sequence[StoredMessage], cwd: str) -> list[StoredEvent]:
    rows: list[StoredEvent] = []
    asked: ToolRequested | None = None
    for event in events_from_messages([stored.message for stored in messages], record.id, cwd):
        match event:
            case ToolRequested():
                asked = event
                continue
            case ToolFinished() if asked is not None:
                row: tuple[SessionEvent, ...] = (asked, event)
            case _:
                row = (event,)
        rows.append(StoredEvent(record.number, len(rows), record.began_at, row))
    return rows


def _last_told(events: Sequence[StoredEvent]) -> ContextUsed | None:
    told = (event for stored in reversed(events) for event in reversed(stored.events))
    return next((event for event in told if isinstance(event, ContextUsed)), None)


def _items(rows: Sequence[StoredEvent], messages: Sequence[StoredMessage]) -> Iterator[Item]:
    """The items of a turn; pieces of one message that were stored apart become one."""
    answered_at = {
        stored.message["tool_call_id"]: stored.created_at for stored in messages if "tool_call_id" in stored.message
    }
    last: Item | None = None
    last_id = ""
    for stored in rows:
        item, message_id = _item(stored, answered_at)
        if item is None:
            continue
        joined = _joined(last, item) if message_id and message_id == last_id else None
        if joined is None and last is not None:
            yield last
        last, last_id = joined or item, message_id
    if last is not None:
        yield last


def _joined(one: Item | None, other: Item) -> Item | None:
    match one, other:
        case Answer(text=text), Answer():
            return Answer(text + other.text)
        case Thought(text=text), Thought():
            return Thought(text + other.text)
    return None


def _item(stored: StoredEvent, answered_at: Mapping[str, float]) -> tuple[Item | None, str]:
    """What an event shows, and the id of the message that it is a piece of."""
    match stored.events[0] if stored.events else None:
        case UserSaid(parts=parts):
            return Prompt(parts), ""
        case AgentText(message_id=message_id, text=text):
            return (Answer(text) if text.strip() else None), message_id
        case AgentThought(message_id=message_id, text=text):
            return (Thought(text) if text.strip() else None), message_id
        case Noticed(message_id=message_id, text=text):
            return (Answer(text) if text.strip() else None), message_id
        case ContextCompacted() as compacted:
            return Answer(f"*{compacted.told}*"), ""
        case PlanChanged(items=items):
            return (Plan(items) if items else None), ""
        case ModeChanged(mode=mode):
            return Mode(mode), ""
        case ContextUsed() | SessionNamed() | None:
            return None, ""
        case _:
            return card_of_events(stored, answered_at), ""


def _title(turns: Sequence[Turn]) -> str:
    for turn in turns:
        for item in turn.items:
            if isinstance(item, Prompt) and (words := first_words(item, _LONGEST_TITLE)):
                return words
    return "A session without a title"


def first_words(prompt: Prompt, limit: int) -> str:
    """The beginning of what the person wrote, on one line, at most `limit` characters long."""
    text = " ".join(" ".join(part.text for part in prompt.parts if isinstance(part, SaidText)).split())
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


# What a turn took and how it ended, in words.


def turn_figures(turn: Turn) -> list[str]:
    """What a turn took, as far as it is known: `1 min 12 s`, `3.4k tokens`, `$0.02`."""
    tokens = f"{count(turn.tokens)} tokens" if turn.tokens else ""
    cost = "" if turn.cost is None else dollars(turn.cost)
    return [figure for figure in (duration(turn.seconds), tokens, cost) if figure]


_ENDINGS = {
    "end_turn": "",
    "command": "",
    "reset": "",
    "cancelled": "Cancelled.",
    "max_tokens": "The model's answer was cut at its greatest length.",
    "max_turn_requests": "The turn used up its model requests.",
    "refusal": "The model refused.",
    "": "It did not end: it was interrupted, or still runs.",
}


def ending(turn: Turn) -> str:
    """How a turn ended, where a reader should know; '' for one that simply ended."""
    if turn.outcome == "error":
        return turn.note or "It failed."
    return _ENDINGS.get(turn.outcome or "", f"It ended with {turn.outcome}.")


def token_totals(session: SessionRecord) -> list[str]:
    """`120k in`, `4.2k out`, `80k cached`, as far as the numbers are known and not 0."""
    usage: Usage = session.spent.usage
    numbers = ((usage.input_tokens, "in"), (usage.output_tokens, "out"), (usage.cached_tokens, "cached"))
    return [f"{count(number)} {name}" for number, name in numbers if number]


# A trajectory: ShareGPT form, from the messages that the model saw, but for secrets.


def is_completed(transcript: Transcript) -> bool:
    """Whether the session's last turn came to its end by itself."""
    outcomes = [turn.outcome for turn in transcript.turns if turn.outcome not in {COMMAND, RESET, COMPACTED}]
    return bool(outcomes) and outcomes[-1] == "end_turn"


def to_trajectory(
    transcript: Transcript,
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    redacting: Redact = redact,
) -> str:
    """The session as one line of JSON, without a line feed at its end.

    Args:
        system: the system prompt that the model had; None if it is not known.
        tools: the tool definitions that it had, as they were sent.
        redacting: takes the secrets out of each text.
    """
    session = transcript.session
    messages = [each.message for each in transcript.messages if not each.hidden]
    spent = session.spent
    line = {
        "conversations": conversations(messages, system, tools, redacting),
        "timestamp": datetime.fromtimestamp(session.updated_at, UTC).isoformat(),
        "model": session.model,
        "completed": is_completed(transcript),
        "session_id": session.id,
        "cwd": session.cwd,
        "turns": len(transcript.turns),
        "compressions": sum(
            isinstance(event, ContextCompacted) and event.state == "done" for event in _events(transcript)
        ),
        "api_calls": spent.requests,
        "input_tokens": spent.usage.input_tokens,
        "output_tokens": spent.usage.output_tokens,
        "cost_usd": spent.cost,
    }
    return whole(json.dumps(line, ensure_ascii=False))


def _events(transcript: Transcript) -> Iterator[SessionEvent]:
    return (event for stored in transcript.events for event in stored.events)
