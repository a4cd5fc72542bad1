"""How long each turn took, how much it added to the conversation, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_core.events import ContextUsed
from agent_core.messages import text_of
from agent_core.sessions.records import StoredEvent, StoredMessage, TurnRecord
from tools.light_dataclass import dataclass

_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """The figures of a turn, as in `Turn`."""

    seconds: float
    tokens: int
    is_estimate: bool
    cost: float | None


def figures_of(
    turns: Sequence[tuple[TurnRecord, Sequence[StoredEvent], Sequence[StoredMessage]]],
) -> list[TurnFigures]:
    """The figures of all turns of a session, in order.

    A turn's tokens are those by which the model's window filled, where that was told before and after it; else they
    are estimated.
    """
    return list(_figures(turns))


def _figures(
    turns: Sequence[tuple[TurnRecord, Sequence[StoredEvent], Sequence[StoredMessage]]],
) -> Iterator[TurnFigures]:
    before: ContextUsed | None = ContextUsed(0, 0, 0.0)
    for record, events, messages in turns:
        after = _last_told(events)
        grown = after.used - before.used if after is not None and before is not None else 0
        tokens = grown if grown > 0 else _estimate(messages)
        yield TurnFigures(_seconds(record, events, messages), tokens, grown <= 0, _cost(before, after))
        before = after


def _last_told(events: Sequence[StoredEvent]) -> ContextUsed | None:
    told = (event for stored in reversed(events) for event in reversed(stored.events))
    return next((event for event in told if isinstance(event, ContextUsed)), None)


def _cost(before: ContextUsed | None, after: ContextUsed | None) -> float | None:
    if before is None or after is None or before.cost is None or after.cost is None:
        return None
    return max(0.0, after.cost - before.cost)


def _seconds(record: TurnRecord, events: Sequence[StoredEvent], messages: Sequence[StoredMessage]) -> float:
    end = record.ended_at
    if end is None:
        end = max([record.began_at, *(each.created_at for each in events), *(each.created_at for each in messages)])
    return max(0.0, end - record.began_at)


def _estimate(messages: Sequence[StoredMessage]) -> int:
    return sum(_characters(stored) for stored in messages) // _CHARS_A_TOKEN


def _characters(stored: StoredMessage) -> int:
    message = stored.message
    calls = sum(len(call["function"]["arguments"]) for call in message.get("tool_calls", ()))
    return len(text_of(message["content"])) + len(message.get("reasoning", "")) + calls
