"""What is made of a conversation's messages for its requests: made once, however many requests there are.

Each request repeats the one before and adds to its end. Without this a long conversation would be converted and
written as JSON anew for each tool call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeVar

from agent_core.providers.pieces import PiecesText
from tools.light_dataclass import dataclass

_Made = TypeVar("_Made")
_Object = TypeVar("_Object")


class MadeOnce:
    """Remembers what was made of a list's objects (messages, tools), for the next list that begins with the same.

    The first one may be another: what follows the system prompt is the same whatever it says.

    None of them may be changed once it was seen. Used by one thread at a time.

    Attributes:
        kept: how much of what `of` has given is what it gave the last time.
    """

    __slots__ = ("_key", "_made", "_objects", "kept")

    def __init__(self) -> None:
        self.kept = 0
        self._key: object = None
        self._objects: list[Any] = []
        self._made: list[Any] = []

    def of(self, objects: Sequence[_Object], make: Callable[[_Object], _Made], key: object) -> list[_Made]:
        """What `make` makes of each of them, in order.

        Args:
            key: all that `make` depends on beside the object; another one makes everything anew.
        """
        if key != self._key:
            self._key, self._objects, self._made = key, [], []
        has_new_first = _differ_at_first(self._objects, objects)
        first = [make(objects[0])] if has_new_first else []
        known = _common([objects[0], *self._objects[1:]] if has_new_first else self._objects, objects)
        new = objects[known:]
        made = [*map(make, new)]
        # A long conversation is copied as seldom as can be: each request is made of all of it.
        self._objects[known:], self._made[known:] = new, made
        if has_new_first:
            self._objects[:1], self._made[:1] = objects[:1], first
        self.kept = 0 if has_new_first else known
        return self._made.copy()


class GroupedOnce:
    """The same for groups of neighbours. The last group is made anew each time: it may go on in the next list."""

    __slots__ = ("_ends", "_key", "_made", "_objects", "kept")

    def __init__(self) -> None:
        self.kept = 0
        self._key: object = None
        self._objects: list[Any] = []
        self._made: list[Any] = []
        # Where the groups end, among the objects and in what was made.
        self._ends: list[tuple[int, int]] = [(0, 0)]

    @property
    def is_unused(self) -> bool:
        """Whether it remembers nothing."""
        return not self._objects

    def of(
        self,
        objects: Sequence[_Object],
        begins: Callable[[_Object, _Object], bool],
        make: Callable[[_Object | None, Sequence[_Object]], Sequence[_Made]],
        key: object = None,
    ) -> list[_Made]:
        """All that `make` makes of the groups, in order.

        Args:
            begins: whether its second argument begins a group, behind the first one.
            make: gets what stands before the group, None for the first one, and the group.
            key: all that both depend on beside the objects; another one makes everything anew.
        """
        if key != self._key:
            self._objects = []
        first = self._new_first(objects, begins, make)
        known = _common(self._objects if first is None else [objects[0], *self._objects[1:]], objects)
        while self._ends[-1][0] >= known and len(self._ends) > 1:
            del self._ends[-1]
        start, self.kept = self._ends[-1]
        del self._made[self.kept :]
        # Should `make` fail, what it has made until then is not taken for that of other objects.
        self._key, held = key, start
        del self._objects[held:]
        for at in range(start + 1, len(objects) + 1):
            if at == len(objects) or begins(objects[at - 1], objects[at]):
                self._made += make(objects[start - 1] if start else None, objects[start:at])
                self._ends.append((at, len(self._made)))
                start = at
        self._objects += objects[held:]
        if first is not None:
            self._objects[0], self._made[0], self.kept = objects[0], first, 0
        return self._made.copy()

    def _new_first(
        self,
        objects: Sequence[_Object],
        begins: Callable[[_Object, _Object], bool],
        make: Callable[[_Object | None, Sequence[_Object]], Sequence[_Made]],
    ) -> _Made | None:
        """What is made of another first one, where it is a group and what follows does not depend on it."""
        if not _differ_at_first(self._objects, objects) or self._ends[1] != (1, 1):
            return None
        end, made = self._ends[2]
        first = make(None, objects[:1])
        if not begins(objects[0], objects[1]) or len(first) != 1 or list(objects[1:end]) != self._objects[1:end]:
            return None
        return first[0] if list(make(objects[0], objects[1:end])) == self._made[1:made] else None


def _differ_at_first(known: list[Any], objects: Sequence[Any]) -> bool:
    """Whether the lists differ in their first object, and no more in the second."""
    return len(known) > 1 and len(objects) > 1 and known[0] != objects[0] and known[1] == objects[1]


def _common(known: list[Any], objects: Sequence[Any]) -> int:
    """How many objects both lists begin with. Nearly always it is the whole of the known one."""
    count = len(known)
    if list(objects[:count]) == known:
        return count
    pairs = zip(known, objects, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(objects))


@dataclass(frozen=True, slots=True)
class RequestParts:
    """What a session's requests are made of.

    Attributes:
        fitted: the messages as the model takes them.
        placed: these with the images of results where the model takes them.
        written: these in the protocol's form.
        joined: these as the protocol puts them together.
        written_text, joined_text: their JSON text, where they are what is sent.
        tools: the tools in the protocol's form.
    """

    fitted: MadeOnce = field(default_factory=MadeOnce)
    placed: GroupedOnce = field(default_factory=GroupedOnce)
    written: MadeOnce = field(default_factory=MadeOnce)
    joined: GroupedOnce = field(default_factory=GroupedOnce)
    written_text: PiecesText = field(default_factory=PiecesText)
    joined_text: PiecesText = field(default_factory=PiecesText)
    tools: MadeOnce = field(default_factory=MadeOnce)
