"""A request's body as JSON text, put together from parts that are written once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

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
