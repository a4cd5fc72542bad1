"""Finds the one place where each hunk of a file belongs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tools.light_dataclass import dataclass
from tools.patching.anchors import KeyedText, anchor_ends, below_anchors
from tools.patching.hunk_spans import hunk_span
from tools.patching.likeness import Likeness, is_blank, keys, runs
from tools.patching.v4a import Hunk, HunkLine


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where a hunk may belong: the lines (0-based) where it would begin, in order.

    Attributes:
        hunk: the hunk as it is there; an empty line at its end may be left out.
        note: what the model should know of how they were found.
        problem: why there are none.
    """

    hunk: Hunk
    starts: tuple[int, ...] = ()
    likeness: Likeness = Likeness.EXACT
    note: str = ""
    problem: str = ""

    def core(self, start: int) -> tuple[int, int]:
        """The lines from the first change to the last (exclusive), were it to begin at `start`."""
        return start + self.hunk.head, start + len(self.hunk.old) - self.hunk.tail


def candidates(text: KeyedText, hunk: Hunk) -> Candidates:
    """Every place where a hunk may belong: those that are most alike, told apart by its anchors."""
    ends = anchor_ends(text, hunk.anchors)
    if not hunk.old:
        return _insertions(text, hunk, ends)
    found = _search(text, hunk, ends)
    if found.starts or not is_blank(hunk.old[-1]) or hunk.lines[-1].sign != " ":
        return found
    shorter = replace(hunk, lines=_without_blank_end(hunk.lines))
    second = _search(text, shorter, ends) if shorter.old else found
    return second if second.starts else found


def _search(text: KeyedText, hunk: Hunk, ends: Sequence[int]) -> Candidates:
    elsewhere: list[int] = []
    for likeness in Likeness:
        every = runs(text.keys(likeness), keys(hunk.old, likeness))
        if likeness >= Likeness.INDENTATION:
            every = [start for start in every if hunk_span(text.text, hunk, start, likeness) is not None]
        if not every:
            continue
        starts = below_anchors(text, every, ends) if ends else every
        if hunk.anchors and not ends and (len(every) > 1 or likeness > Likeness.TRAILING):
            return Candidates(hunk, problem=f"there is no line like its anchor @@ {hunk.anchors[-1].strip()}")
        if starts:
            return Candidates(hunk, tuple(_narrowed(text, hunk, starts)), likeness, _note(hunk, likeness, ends))
        elsewhere = elsewhere or every
    if elsewhere:
        lines = ", ".join(str(start + 1) for start in elsewhere[:5])
        problem = f"its lines are there (line {lines}), but not below its anchor @@ {hunk.anchors[-1].strip()}"
        return Candidates(hunk, problem=problem)
    return Candidates(hunk)


def _narrowed(text: KeyedText, hunk: Hunk, starts: Sequence[int]) -> Sequence[int]:
    """Those of several places that the end of the file, or the line of a unified diff, tells apart."""
    if hunk.is_at_end:
        at_end = [start for start in starts if all(map(is_blank, text.lines[start + len(hunk.old) :]))]
        return at_end or starts
    if hunk.near is not None and hunk.near - 1 in starts:
        return [hunk.near - 1]
    return starts


def _note(hunk: Hunk, likeness: Likeness, ends: Sequence[int]) -> str:
    notes = []
    if likeness > Likeness.EXACT:
        notes.append(f"hunk {hunk.number} was found without regard to {likeness.told}")
    if hunk.anchors and not ends and hunk.near is None:
        notes.append(f"hunk {hunk.number}: its anchor was not found, but its lines are unique")
    return "; ".join(notes)


def _insertions(text: KeyedText, hunk: Hunk, ends: Sequence[int]) -> Candidates:
    """Where new lines go that come with no line of the file: behind their anchor, else to the end."""
    if hunk.near is not None and not hunk.is_at_end:
        return Candidates(hunk, (min(hunk.near, len(text)),))
    if hunk.is_at_end or not hunk.anchors:
        note = f"hunk {hunk.number} names no place: its lines were put at the end of the file"
        return Candidates(hunk, (len(text),), note="" if hunk.is_at_end or not len(text) else note)
    if not ends:
        return Candidates(hunk, problem=f"there is no line like its anchor @@ {hunk.anchors[-1].strip()}")
    return Candidates(hunk, tuple(end + 1 for end in ends))


def _without_blank_end(lines: Sequence[HunkLine]) -> tuple[HunkLine, ...]:
    kept = list(lines)
    while kept and kept[-1].sign == " " and is_blank(kept[-1].text):
        kept.pop()
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Order:
    """The places of all hunks of a file, one each; or which of them have more than one, or none left."""

    starts: tuple[int, ...] = ()
    ambiguous: tuple[int, ...] = ()
    overlapping: tuple[int, ...] = ()
    is_reordered: bool = False


def in_order(found: Sequence[Candidates]) -> Order:
    """Gives each hunk its place. Hunks come in the order of the file, so that one may tell another's place.

    Only what cannot be otherwise is taken: if the first and the last way to place them all differ, it is ambiguous.
    """
    earliest, latest = _earliest(found), _latest(found)
    if earliest is not None and latest is not None:
        ambiguous = tuple(i for i, (one, other) in enumerate(zip(earliest, latest, strict=True)) if one != other)
        return Order(ambiguous=ambiguous) if ambiguous else Order(tuple(earliest))
    several = tuple(index for index, each in enumerate(found) if len(each.starts) > 1)
    if several:
        return Order(ambiguous=several)
    cores = sorted((each.core(each.starts[0]), index) for index, each in enumerate(found))
    overlapping = [later for ((_, end), _), ((begin, _), later) in pairwise(cores) if begin < end]
    if overlapping:
        return Order(overlapping=tuple(overlapping))
    return Order(tuple(each.starts[0] for each in found), is_reordered=True)


def _earliest(found: Sequence[Candidates]) -> list[int] | None:
    places: list[int] = []
    cursor = 0
    for each in found:
        place = next((start for start in each.starts if each.core(start)[0] >= cursor), None)
        if place is None:
            return None
        places.append(place)
        cursor = each.core(place)[1]
    return places


def _latest(found: Sequence[Candidates]) -> list[int] | None:
    places: list[int] = []
    limit: int | None = None
    for each in reversed(found):
        fitting = (start for start in reversed(each.starts) if limit is None or each.core(start)[1] <= limit)
        place = next(fitting, None)
        if place is None:
            return None
        places.append(place)
        limit = each.core(place)[0]
    return places[::-1]
