"""Tool calls of a history with what they gave, read for what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.messages import Message, parse_arguments, text_of

_DECODER = json.JSONDecoder(strict=False)
_LONGEST_PAYLOAD = 200_000
_FENCE = re.compile(r"\[untrusted (\w+) [^\n\]]*\]")
_WHERE_FENCES_BEGIN = 200


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call with its result.

    Attributes:
        arguments: empty where they are no JSON object.
        position: where the result is in the history.
    """

    id: str
    name: str
    raw_arguments: str
    arguments: Mapping[str, Any]
    result: Message
    position: int

    @property
    def text(self) -> str:
        """The result's text."""
        return text_of(self.result["content"])

    def argument(self, name: str) -> str:
        """An argument as text; '' where it is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


def made_calls(messages: Sequence[Message], first: int, end: int) -> Iterator[MadeCall]:
    """The calls whose results are from `first` to `end`, in order; of ids that stand twice the latest call counts."""
    open_calls: dict[str, tuple[str, str]] = {}
    for position in range(first, end):
        message = messages[position]
        for call in message.get("tool_calls", ()):
            open_calls[call["id"]] = call["function"]["name"], call["function"]["arguments"]
        if message["role"] != "tool":
            continue
        found = open_calls.pop(message.get("tool_call_id", ""), None)
        if found is not None:
            name, raw = found
            yield MadeCall(message.get("tool_call_id", ""), name, raw, _arguments(raw), message, position)


def payload_of(text: str) -> Mapping[str, Any]:
    """The JSON object that a result begins with; empty where there is none."""
    if not text.startswith("{") or len(text) > _LONGEST_PAYLOAD:
        return {}
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def error_in(text: str) -> str:
    """What a failed call says; '' for one that did not fail."""
    # A result is not read whole only to find that it is no failure.
    if not text.startswith('{"error"'):
        return ""
    said = payload_of(text).get("error")
    return said if isinstance(said, str) else ""


def fence_of(text: str) -> re.Match[str] | None:
    """The line that marks a result as written by others; group 1 is its number."""
    return _FENCE.search(text, 0, _WHERE_FENCES_BEGIN)


def _arguments(raw: str) -> Mapping[str, Any]:
    try:
        return parse_arguments(raw)
    except ValueError:
        return {}
