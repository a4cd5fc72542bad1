"""Messages in the form that Chat Completions servers take: only fields the protocol knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_core.messages import Message

_FIELDS = {
    "system": ("role", "content"),
    "user": ("role", "content"),
    "assistant": ("role", "content", "tool_calls"),
    "tool": ("role", "tool_call_id", "content"),
}


def to_wire(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages without what is only ours (reasoning, names)."""
    return [{field: message[field] for field in _FIELDS[message["role"]] if field in message} for message in messages]  # type: ignore[literal-required]
