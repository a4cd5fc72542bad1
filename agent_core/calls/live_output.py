"""What a call printed while it ran, as far as it is shown live, and what is left of it where the call broke off."""

from __future__ import annotations

from dataclasses import replace

from agent_core.messages import is_interrupted
from tools.result import ShownText, ToolResult, reason_of

_TAIL_CHARS = 2_000


def tail_of(text: str) -> str:
    """The end of `text`, from the beginning of a line."""
    if len(text) <= _TAIL_CHARS:
        return text
    cut = text[-_TAIL_CHARS:]
    return cut[cut.find("\n") + 1 :]


def with_tail(result: ToolResult, tail: str) -> ToolResult:
    """A failure that has nothing to show but its reason keeps what the call printed before it broke off."""
    if not result.failed or not tail or (result.shown and not result.denied):
        return result
    return replace(result, shown=(ShownText(tail, ""), *(result.shown or (ShownText(readable_error(result.text)),))))


def readable_error(text: str) -> str:
    """The sentence in an error result, as the person reads it; other text as it is."""
    if is_interrupted(text):
        return "Stopped."
    return reason_of(text)
