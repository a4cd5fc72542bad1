"""From a transcript to its story: the events of each turn, or its messages where there are no events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from acp_adapter.export.figures import TurnFigures, figures_of
from acp_adapter.export.making_cards import card_of_events
from acp_adapter.export.story import Answer, Item, Mode, Plan, Prompt, Story, Thought, Turn
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    ModeChanged,
    Noticed,
    PlanChanged,
    SessionEvent,
    SessionNamed,
    ToolFinished,
    ToolRequested,
    UserSaid,
)
from agent_core.prompt_parts import SaidText
from agent_core.sessions.events.message_events import events_from_messages
from agent_core.sessions.records import StoredEvent, StoredMessage, Transcript, TurnRecord
from tools.light_dataclass import dataclass

_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class _TurnData:
    record: TurnRecord
    events: Sequence[StoredEvent]
    messages: Sequence[StoredMessage]


def tell(transcript: Transcript) -> Story:
    """The story of a session. Messages that the model refused are in it, as the person saw them."""
    events: defaultdict[int, list[StoredEvent]] = defaultdict(list)
    messages: defaultdict[int, list[StoredMessage]] = defaultdict(list)
    for event in transcript.events:
        events[event.turn].append(event)
    for message in transcript.messages:
        messages[message.turn].append(message)
    data = [
        _TurnData(
            record,
            _happened(record, events[record.number], messages[record.number], transcript.session.cwd),
            messages[record.number],
        )
        for record in _records(transcript, events, messages)
    ]
    figures = figures_of([(turn.record, turn.events, turn.messages) for turn in data])
    turns = tuple(_turn(turn, figure) for turn, figure in zip(data, figures, strict=True))
    title = transcript.session.title or _title(turns)
    return Story(transcript.session, title, turns, sum(map(_compressions, data)))


def _compressions(data: _TurnData) -> int:
    done = (event for row in data.events for event in row.events if isinstance(event, ContextCompacted))
    return len({event.id for event in done if event.state == "done"})


def _records(
    transcript: Transcript, events: Mapping[int, list[StoredEvent]], messages: Mapping[int, list[StoredMessage]]
) -> list[TurnRecord]:
    """The turns in view. What was saved from a damaged database may belong to one whose record is lost."""
    lost = {*events, *messages} - {record.number for record in transcript.turns}
    records = [record for record in transcript.turns if not record.undone]
    for number in lost:
        times = [stored.created_at for stored in (*events.get(number, ()), *messages.get(number, ()))]
        records.append(TurnRecord(number, "", min(times), max(times), ""))
    return sorted(records, key=lambda record: record.number)


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


def _turn(data: _TurnData, figures: TurnFigures) -> Turn:
    record = data.record
    return Turn(
        record.number,
        record.began_at,
        record.outcome,
        record.note,
        tuple(_items(data)),
        figures.seconds,
        figures.tokens,
        figures.is_estimate,
        figures.cost,
    )


def _items(data: _TurnData) -> Iterator[Item]:
    """The items of a turn; pieces of one message that were stored apart become one."""
    answered_at = {
        stored.message["tool_call_id"]: stored.created_at
        for stored in data.messages
        if "tool_call_id" in stored.message
    }
    last: Item | None = None
    last_id = ""
    for stored in data.events:
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
