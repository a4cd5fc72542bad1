"""Where the anchors of a hunk (`@@ def area():`) lead."""

from __future__ import annotations

from collections.abc import Sequence

from tools.patching.likeness import Likeness, folded, indent_of, indexes, is_blank, keys
from tools.patching.spans import TextLines

_CLOSERS = (")", "]", "}", "{")
_MIN_CONTAINED_CHARS = 3


class KeyedText:
    """A text whose lines are looked for in several ways."""

    def __init__(self, text: str) -> None:
        self.text = TextLines(text)
        self.lines = self.text.lines
        self._keys: dict[Likeness, list[str]] = {}

    def __len__(self) -> int:
        return len(self.lines)

    def keys(self, likeness: Likeness) -> list[str]:
        """The keys of all lines."""
        if likeness not in self._keys:
            self._keys[likeness] = keys(self.lines, likeness)
        return self._keys[likeness]


def anchor_ends(text: KeyedText, anchors: Sequence[str]) -> list[int]:
    """The lines (0-based) that the innermost anchor may mean, each after those that the outer ones mean."""
    ends: list[int] = []
    for depth, anchor in enumerate(anchors):
        found = _lines_like(text, anchor)
        inner = (_below(text, [index for index in found if index > end], end) for end in ends)
        ends = sorted({index for below in inner for index in below}) if depth else found
    return ends


def _lines_like(text: KeyedText, anchor: str) -> list[int]:
    for likeness in Likeness:
        if found := indexes(text.keys(likeness), keys([anchor], likeness)[0]):
            return found
    part = folded(anchor).strip()
    if len(part) < _MIN_CONTAINED_CHARS:
        return []
    return [index for index, line in enumerate(text.keys(Likeness.LOOKALIKES)) if part in line]


def below_anchors(text: KeyedText, starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Which of the places `starts` the anchors at `ends` may mean, in order.

    An anchor that opens a block means what is in it. Any other means the first place that comes after it.
    """
    found: set[int] = set()
    for end in ends:
        found.update(_below(text, [start for start in starts if start >= end], end))
    return sorted(found)


def _below(text: KeyedText, starts: Sequence[int], end: int) -> Sequence[int]:
    adjacent = [start for start in starts if start <= end + 1]
    if adjacent:
        return adjacent[:1]
    if not _opens_block(text, end):
        return starts[:1]
    inside = [start for start in starts if _is_inside(text, end, start)]
    # A place of deeper lines that is not in this block belongs to another one.
    return inside or [start for start in starts if _depth(text, start) <= _depth(text, end)]


def _opens_block(text: KeyedText, end: int) -> bool:
    following = next((line for line in text.lines[end + 1 :] if not is_blank(line)), "")
    return _width(following) > _width(text.lines[end])


def _is_inside(text: KeyedText, end: int, start: int) -> bool:
    outer = _width(text.lines[end])
    between = (line for line in text.lines[end + 1 : start] if not is_blank(line))
    return _depth(text, start) > outer and all(
        _width(line) > outer or line.lstrip().startswith(_CLOSERS) for line in between
    )


def _depth(text: KeyedText, start: int) -> int:
    """The indentation of the first line from `start` on that is not blank."""
    return _width(next((line for line in text.lines[start:] if not is_blank(line)), ""))


def _width(line: str) -> int:
    return len(indent_of(line).expandtabs(8))
