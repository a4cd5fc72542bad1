"""What is made of a conversation's messages for its requests: made once, however many requests there are.

Each request repeats the one before and adds to its end. Without this a long conversation would be converted and
written as JSON anew for each tool call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar

from tools.light_dataclass import dataclass

_Made = TypeVar("_Made")
# How deep pieces lie in a request's body: body, messages, message, content.
_LEVELS = 4


class Piece(dict[str, Any]):
    """A part of a request's body, and its JSON text in UTF-8. Nobody changes it once it is made."""

    __slots__ = ("json",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        self.json = _plain(self)


def body_json(body: Mapping[str, Any]) -> bytes:
    """A request's body as JSON in UTF-8, without white space; its pieces are not written again."""
    return _written(body, _LEVELS)


def _written(value: Any, levels: int) -> bytes:
    if isinstance(value, Piece):
        return value.json
    if levels == 0 or not value:
        return _plain(value)
    if isinstance(value, list):
        below = levels - 1
        return b"[%b]" % b",".join([each.json if type(each) is Piece else _written(each, below) for each in value])
    if isinstance(value, dict):
        members = [b"%b:%b" % (_plain(key), _written(each, levels - 1)) for key, each in value.items()]
        return b"{%b}" % b",".join(members)
    return _plain(value)


def _plain(value: Any) -> bytes:
    # Lone surrogates have no UTF-8.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class MadeOnce:
    """Remembers what was made of a list's objects (messages, tools), for the next list that begins with the same.

    None of them may be changed once it was seen. Used by one thread at a time.
    """

    __slots__ = ("_key", "_made", "_objects")

    def __init__(self) -> None:
        self._key: object = None
        self._objects: list[Any] = []
        self._made: list[Any] = []

    def of(self, objects: Sequence[Any], make: Callable[[Any], _Made], key: object) -> list[_Made]:
        """What `make` makes of each of them, in order.

        Args:
            key: all that `make` depends on beside the object; another one makes everything anew.
        """
        known = self._common(objects) if key is self._key or key == self._key else 0
        made = [*self._made[:known], *map(make, objects[known:])]
        self._key, self._objects, self._made = key, list(objects), made
        return [*made]

    def _common(self, objects: Sequence[Any]) -> int:
        """How many objects both lists begin with. Nearly always it is the whole of the last one."""
        count = len(self._objects)
        if list(objects[:count]) == self._objects:
            return count
        pairs = zip(self._objects, objects, strict=False)
        return next((at for at, (one, other) in enumerate(pairs) if one != other), len(objects))


@dataclass(frozen=True, slots=True)
class RequestParts:
    """What a session's requests are made of.

    Attributes:
        fitted: the messages as the model takes them.
        written: these in the protocol's form.
        tools: the tools in the protocol's form.
    """

    fitted: MadeOnce = field(default_factory=MadeOnce)
    written: MadeOnce = field(default_factory=MadeOnce)
    tools: MadeOnce = field(default_factory=MadeOnce)
