"""A file's change as lines, in time that grows with the file only: a page shows hundreds of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Literal

from tools.light_dataclass import dataclass

_CONTEXT = 3
_MOST_COMPARED = 3_000

Sign = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a change, with its numbers in the file before and after; None where it is not in that."""

    sign: Sign
    old: int | None
    new: int | None
    text: str

    @property
    def number(self) -> int:
        """Its number after the change, or before it for a line that is gone."""
        return self.new or self.old or 0


@dataclass(frozen=True, slots=True)
class Change:
    """A file's change: its hunks in order, each with three lines around what changed."""

    hunks: tuple[tuple[Line, ...], ...]

    @property
    def added(self) -> int:
        """How many lines are new."""
        return self._count("+")

    @property
    def removed(self) -> int:
        """How many lines are gone."""
        return self._count("-")

    def unified(self) -> str:
        """The hunks as a unified diff without file names; each line ends with a line feed."""
        parts = (part for hunk in self.hunks for part in (_position(hunk), *(line.sign + line.text for line in hunk)))
        return "".join(f"{part}\n" for part in parts)

    def _count(self, sign: Sign) -> int:
        return sum(line.sign == sign for hunk in self.hunks for line in hunk)


def change_of(before: str | None, after: str | None) -> Change:
    """What changed between two texts; None stands for a file that is not there."""
    old, new = (before or "").split("\n"), (after or "").split("\n")
    for lines in (old, new):
        if lines[-1] == "":
            lines.pop()
    return Change(tuple(_hunks(list(_lines(old, new)))))


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """The lines that changed and those near them; only what lies between the common beginning and end is compared."""
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    room = shorter - start
    end = next((place for place in range(room) if old[-1 - place] != new[-1 - place]), room)
    before = max(0, start - _CONTEXT)
    yield from _same(new[before:start], before, before)
    yield from _compared(old[start : len(old) - end], new[start : len(new) - end], start)
    after = len(new) - end
    yield from _same(new[after : after + _CONTEXT], len(old) - end, after)


def _compared(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[Line]:
    if max(len(old), len(new)) > _MOST_COMPARED:  # the time for comparing can grow with the square
        steps: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old), 0, len(new))]
    else:
        steps = difflib.SequenceMatcher(None, old, new).get_opcodes()
    for step, old_from, old_to, new_from, new_to in steps:
        if step == "equal":
            yield from _same(new[new_from:new_to], start + old_from, start + new_from)
            continue
        yield from (Line("-", start + place + 1, None, old[place]) for place in range(old_from, old_to))
        yield from (Line("+", None, start + place + 1, new[place]) for place in range(new_from, new_to))


def _same(lines: Sequence[str], old: int, new: int) -> Iterator[Line]:
    """Lines that did not change, after so many lines of the file before and after."""
    return (Line(" ", old + place, new + place, line) for place, line in enumerate(lines, 1))


def _hunks(lines: Sequence[Line]) -> Iterator[tuple[Line, ...]]:
    """Split where more than twice the context lies between two changes."""
    changed = [place for place, line in enumerate(lines) if line.sign != " "]
    first = 0
    for index, place in enumerate(changed):
        following = changed[index + 1] if index + 1 < len(changed) else None
        if following is None or following - place > 2 * _CONTEXT + 1:
            yield tuple(lines[max(0, changed[first] - _CONTEXT) : place + _CONTEXT + 1])
            first = index + 1


def _position(hunk: Sequence[Line]) -> str:
    old = [line.old for line in hunk if line.old is not None]
    new = [line.new for line in hunk if line.new is not None]
    return f"@@ -{old[0] if old else 0},{len(old)} +{new[0] if new else 0},{len(new)} @@"
