"""What a call printed while it ran, as far as it is shown live, and what is left of it where the call broke off."""

from __future__ import annotations

import json
from dataclasses import replace

from tools.result import ShownText, ToolResult

_TAIL_CHARS = 2_000


def tail_of(text: str) -> str:
    """The end of `text`, from the beginning of a line."""
    if len(text) <= _TAIL_CHARS:
        return text
    cut = text[-_TAIL_CHARS:]
    return cut[cut.find("\n") + 1 :]


def with_tail(result: ToolResult, tail: str) -> ToolResult:
    """A failure that has nothing of its own to show keeps what the call printed before it broke off."""
    if result.shown or not result.failed or not tail:
        return result
    return replace(result, shown=(ShownText(tail, ""), ShownText(readable_error(result.text))))


def readable_error(text: str) -> str:
    """The sentence in an error result; other text as it is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, dict) and isinstance(value.get("error"), str):
        return str(value["error"])
    return text
