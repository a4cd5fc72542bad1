"""What a turn took and how it ended, in words."""

from __future__ import annotations

from acp_adapter.export.story import Turn
from acp_adapter.export.words import count, dollars, duration
from agent_core.providers.base import Usage
from agent_core.sessions.records import SessionRecord


def turn_figures(turn: Turn) -> list[str]:
    """What a turn took: `1 min 12 s`, `≈ 3.4k tokens`, `$0.02`."""
    figures = [duration(turn.seconds), f"{'≈ ' if turn.is_estimate else ''}{count(turn.tokens)} tokens"]
    return figures if turn.cost is None else [*figures, dollars(turn.cost)]


def ending(turn: Turn) -> str:
    """How a turn ended, where a reader should know; '' for one that simply ended."""
    match turn.outcome:
        case "end_turn" | "command" | "reset":
            return ""
        case "cancelled":
            return "Cancelled."
        case "error":
            return turn.note or "It failed."
        case "max_tokens":
            return "The model's answer was cut at its greatest length."
        case "max_turn_requests":
            return "The turn used up its model requests."
        case "refusal":
            return "The model refused."
        case None | "":
            return "It did not end: it was interrupted, or still runs."
        case other:
            return f"It ended with {other}."


def token_totals(session: SessionRecord) -> list[str]:
    """`120k in`, `4.2k out`, `80k cached`, as far as the numbers are known and not 0."""
    usage: Usage = session.spent.usage
    numbers = ((usage.input_tokens, "in"), (usage.output_tokens, "out"), (usage.cached_tokens, "cached"))
    return [f"{count(number)} {name}" for number, name in numbers if number]
