"""What a turn came to."""

from __future__ import annotations

from typing import Literal, TypedDict

from agent_core.messages import Message
from agent_core.providers.base import FinishReason, Usage

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

STOP: dict[FinishReason, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "end_turn",
    "length": "max_tokens",
    "oversized": "max_tokens",
    "refusal": "refusal",
    "unknown": "end_turn",
}


class TurnUsage(TypedDict):
    """Tokens of all requests of a turn; what a provider does not say counts as 0."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int


class ConversationResult(TypedDict):
    """What a turn came to.

    `messages` is the whole conversation without the system prompt, `model` the one that answered last, `cost` what
    the turn cost in US dollars, None where a price or a count is not known.
    """

    final_response: str
    messages: list[Message]
    usage: TurnUsage
    cost: float | None
    stop_reason: StopReason
    interrupted: bool
    iterations: int
    model: str
    turn_id: str


def no_usage() -> TurnUsage:
    """Nothing yet."""
    return TurnUsage(input_tokens=0, output_tokens=0, cached_tokens=0, reasoning_tokens=0)


def add_usage(total: TurnUsage, usage: Usage) -> None:
    """Add a request's tokens."""
    total["input_tokens"] += usage.input_tokens or 0
    total["output_tokens"] += usage.output_tokens or 0
    total["cached_tokens"] += usage.cached_tokens or 0
    total["reasoning_tokens"] += usage.reasoning_tokens or 0


def never_begun(messages: list[Message], model: str, turn_id: str) -> ConversationResult:
    """A turn that was given up before it began: it must not take the place of one that runs now."""
    return ConversationResult(
        final_response="",
        messages=messages,
        usage=no_usage(),
        cost=None,
        stop_reason="cancelled",
        interrupted=True,
        iterations=0,
        model=model,
        turn_id=turn_id,
    )
