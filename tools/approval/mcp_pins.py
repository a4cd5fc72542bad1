"""What an MCP tool was when the person allowed it: digests of what its server says of it, and of the server itself.

A server may describe a tool harmlessly until it is allowed, and otherwise afterwards; and another program may have
the same server name tomorrow. So an answer that lasts is for the tool as it was, and for no other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

from tools.light_dataclass import dataclass

Part = Literal["program", "description", "schema", "annotations"]
_PARTS: tuple[Part, ...] = get_args(Part)
_KEYS: Mapping[Part, tuple[str, ...]] = {
    "description": ("name", "title", "description"),
    "schema": ("inputSchema", "outputSchema"),
    "annotations": ("annotations",),
}
_WORDS: Mapping[Part, str] = {
    "program": "the program or address of its server",
    "description": "its description",
    "schema": "its schema",
    "annotations": "its annotations",
}
_DIGITS = 40  # 160 bits: who makes both of two texts finds no two with the same digest
_TEXT = re.compile(" ".join(f"{part}:([0-9a-f]{{{_DIGITS}}})" for part in _PARTS))


@dataclass(frozen=True, slots=True)
class ToolPin:
    """The digests of one tool. Two tools with equal pins are the same tool of the same server.

    Attributes:
        program: of what the server is: its command with arguments, directory and names of variables, or its address.
        description, schema, annotations: of what it says of the tool.
    """

    program: str
    description: str
    schema: str
    annotations: str

    def as_text(self) -> str:
        """As it is kept: `program:… description:… schema:… annotations:…`."""
        return " ".join(f"{part}:{getattr(self, part)}" for part in _PARTS)

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """The pin that was kept; None for a text that is none."""
        found = _TEXT.fullmatch(text)
        return None if found is None else cls(*found.groups())

    def changes_since(self, earlier: ToolPin) -> tuple[str, ...]:
        """What is not as it was, in words."""
        return tuple(_WORDS[part] for part in _PARTS if getattr(self, part) != getattr(earlier, part))


def pin_of(program: Mapping[str, Any], tool: Mapping[str, Any]) -> ToolPin:
    """The pin of a tool.

    Args:
        program: what the server is.
        tool: all that the server says of the tool, as it came; empty for what is no tool of its list.
    """
    digests = {part: _digest({key: tool.get(key) for key in keys}) for part, keys in _KEYS.items()}
    return ToolPin(program=_digest(program), **digests)


def closest(now: ToolPin, earlier: Sequence[ToolPin]) -> tuple[str, ...]:
    """What has changed since the most similar of the earlier pins, in words; () without any."""
    return min((now.changes_since(each) for each in earlier), key=len, default=())


def _digest(value: object) -> str:
    """Of the canonical JSON: the order of keys says nothing."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
