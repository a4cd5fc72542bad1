"""A request's body as JSON text, put together from parts that are written once for a conversation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Any, TypeVar

from tools import quick_json
from tools.light_dataclass import dataclass

# How deep pieces lie in a request's body: body, messages, message, content.
_LEVELS = 4
_LONG = 65_536
_COMMA = b","


class Piece(dict[str, Any]):
    """A part of a request's body, and its JSON text in UTF-8. Nobody changes it once it is made."""

    __slots__ = ("json",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        self.json = _plain(value)  # of a plain dict: the core takes twice as long for one of another class


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbours' text with commas between them, and where in it each ends."""

    text: bytes
    ends: Sequence[int]

    def first(self, count: int) -> _Run:
        """The same of the first `count` of them."""
        return self if count == len(self.ends) else _Run(self.text[: self.ends[count - 1]], self.ends[:count])

    def with_next(self, other: _Run) -> _Run:
        """The same of these and of the other's."""
        start = len(self.text) + len(_COMMA)
        return _Run(b"%b,%b" % (self.text, other.text), [*self.ends, *(start + end for end in other.ends)])


class Pieces(list[Any]):
    """A list in a request's body that begins with pieces whose text is at hand.

    More may be appended, and elements be replaced with `replace`; nothing else may be changed.
    """

    __slots__ = ("_held", "_runs")

    def __init__(self, pieces: Sequence[Piece], runs: Sequence[_Run]) -> None:
        super().__init__(pieces)
        self._runs, self._held = runs, len(pieces)

    def replace(self, at: int, value: Any) -> None:
        """Put another value at `at`."""
        self._held = min(self._held, at)
        self[at] = value

    def texts(self) -> tuple[list[bytes], list[Any]]:
        """The text of the elements that are as they were, some together, with commas; and the other elements."""
        return [run.text for run in _first(self._runs, self._held)], self[self._held :]


class PiecesText:
    """The text of a list of pieces that grows from request to request.

    It lies in runs, of which each is longer than all behind it together: a long conversation's text is seldom copied.
    """

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def of(self, pieces: Sequence[Piece], kept: int) -> Pieces:
        """The pieces with their text.

        Args:
            kept: how many of them are those of the last call.
        """
        runs = _first(self._runs, kept)
        if new := [piece.json for piece in pieces[kept:]]:
            _add(runs, _Run(_COMMA.join(new), list(accumulate(map(len, new), lambda end, size: end + 1 + size))))
        self._runs = runs
        return Pieces(pieces, tuple(runs))


def _first(runs: Sequence[_Run], count: int) -> list[_Run]:
    """The runs of the first `count` pieces."""
    found = []
    for run in runs:
        if count <= 0:
            break
        found.append(run.first(min(count, len(run.ends))))
        count -= len(run.ends)
    return found


def _add(runs: list[_Run], run: _Run) -> None:
    while runs and len(runs[-1].text) < 2 * len(run.text):
        run = runs.pop().with_next(run)
    runs.append(run)


def body_parts(body: Mapping[str, Any]) -> list[bytes]:
    """A request's body as JSON in UTF-8, without white space, in few parts; its pieces are not written again.

    Long ones stand alone: to put a long conversation together would copy it once more.
    """
    parts: list[bytes] = []
    short: list[bytes] = []
    for text in _texts(body, _LEVELS):
        if len(text) < _LONG:
            short.append(text)
            continue
        parts += (b"".join(short), text)  # brackets, or a comma, always stand in front
        short = []
    return [*parts, b"".join(short)]


def body_json(body: Mapping[str, Any]) -> bytes:
    """The same in one."""
    return b"".join(_texts(body, _LEVELS))


def _texts(value: Any, levels: int) -> list[bytes]:
    """The parts of a value's JSON text."""
    if isinstance(value, Piece):
        return [value.json]
    if levels == 0 or not value:
        return [_plain(value)]
    if isinstance(value, list):
        return _list_texts(value, levels - 1)
    if isinstance(value, dict):
        texts = [b"{"]
        for key, each in value.items():
            texts += (_plain(key), b":", *_texts(each, levels - 1), b",")
        texts[-1] = b"}"
        return texts
    return [_plain(value)]


def _list_texts(values: list[Any], levels: int) -> list[bytes]:
    known, rest = values.texts() if isinstance(values, Pieces) else ([], values)
    texts = [b"["]
    for text in known:
        texts += (text, b",")
    for each in rest:
        texts += (*_texts(each, levels), b",")
    texts[-1] = b"]"
    return texts


def _plain(value: Any) -> bytes:
    try:
        return quick_json.dumps(value)
    except ValueError:  # lone surrogates have no UTF-8
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


# What is made of messages is made once, however many requests there are: each request repeats the one before and adds
# to its end. Without this a long conversation would be converted and written as JSON anew for each tool call.

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
