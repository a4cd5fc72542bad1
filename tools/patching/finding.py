"""Where a text that was sent is in a file, though it differs in what hardly matters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from tools.light_dataclass import dataclass
from tools.patching.likeness import Likeness, folded, indexes, is_blank, keys
from tools.patching.merging import merged
from tools.patching.spans import Span, TextLines, line_ending
from tools.text.matching import occurrences

_BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a file that is alike.

    Attributes:
        first: the index of its first line.
        start, end: its characters.
        begins_within: it begins after the indentation, or further within its first line.
    """

    first: int
    start: int
    end: int
    begins_within: bool


def alike_places(text: TextLines, sent: Sequence[str], likeness: Likeness) -> list[Place]:
    """Every place where the lines `sent` are; the first may be the end of a line, the last the beginning of one."""
    search = _Search(text, sent, likeness, keys(text.lines, likeness), keys(sent, likeness))
    return [place for start in search.starts() if (place := search.place(start)) is not None]


def may_be_alike(text: str, sent: Sequence[str]) -> bool:
    """A quick look: False when not even the longest line of `sent` is in the text."""
    longest = max((line.strip(_BLANKS) for line in sent), key=len)
    return longest in text or folded(longest) in folded(text)


def places_within(text: TextLines, sent: str) -> list[Place]:
    """Where the text `sent` is, but for characters that look alike."""
    found: list[Place] = []
    for start in occurrences(folded(text.text), folded(sent)):
        first = bisect_right(text.starts, start, 0, len(text)) - 1
        found.append(Place(first, start, start + len(sent), begins_within=True))
    return found


def span_of(
    text: TextLines, place: Place, sent: Sequence[str], new: Sequence[str], likeness: Likeness
) -> Span | None:
    """The change that makes the lines `sent`, found at `place`, into `new`; None where it cannot be made for sure.

    Lines that are the same in `sent` and `new` stay as the file has them, with their line endings.
    """
    has = text.text[place.start : place.end].split("\n")
    endings = [*(("\r\n" if line.endswith("\r") else "\n") for line in has[:-1]), ""]
    has = [*(line.removesuffix("\r") for line in has[:-1]), has[-1]]
    made = merged(sent, has, new, likeness, begins_within=place.begins_within)
    if made is None:
        return None
    usual = endings[0] or line_ending(text.whole(place.first)) or text.ending_near(place.first)
    parts: list[str] = []
    for line, kept in made[:-1]:
        parts += [line, usual if kept is None else endings[kept] or usual]
    return Span(place.start, place.end, "".join([*parts, made[-1][0]]))


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the lines `sent`; `has` and `wanted` are the keys of the text's lines and of theirs."""

    text: TextLines
    sent: Sequence[str]
    likeness: Likeness
    has: Sequence[str]
    wanted: Sequence[str]

    def starts(self) -> Iterable[int]:
        """The lines where it is worth to look: all, unless there is a line between the first and the last."""
        inner = self.wanted[1:-1]
        if not inner:
            return range(len(self.has) - len(self.wanted) + 2)
        rare = max(range(len(inner)), key=lambda index: len(inner[index]))
        return [start for index in indexes(self.has, inner[rare]) if (start := index - rare - 1) >= 0]

    def place(self, start: int) -> Place | None:
        """The place that begins in the line `start`, if the lines are there."""
        last = start + len(self.sent) - 1
        if not self._fits(start, last):
            return None
        begin = self._begin(self._line(start))
        if begin is None:
            return None
        skipped = begin if start == last else 0
        end = _ending(self._line(last)[skipped:], self.sent[-1], self.likeness)
        if end is None:
            return None
        starts = self.text.starts
        within = begin > 0 or not self.sent[0]
        return Place(start, starts[start] + begin, starts[last] + skipped + end, begins_within=within)

    def _fits(self, start: int, last: int) -> bool:
        # What follows the last line ending is an empty line for this purpose: a text may end with its line ending.
        is_behind = last == len(self.has) and not self.wanted[-1] and self.text.text.endswith("\n")
        return (last < len(self.has) or is_behind) and self.has[start + 1 : last] == self.wanted[1:-1]

    def _begin(self, line: str) -> int | None:
        begin = _beginning(line, self.sent[0], self.likeness)
        if (
            begin is None
            and len(self.sent) == 1
            and self.likeness >= Likeness.INDENTATION
            and is_blank(self.sent[0][0])
        ):
            return 0  # the beginning of a line
        return begin

    def _line(self, index: int) -> str:
        return self.text.lines[index] if index < len(self.has) else ""


def _beginning(line: str, sent: str, likeness: Likeness) -> int | None:
    """Where in its `line` the first line begins; None where it is not there."""
    if likeness >= Likeness.INDENTATION and keys([line], likeness) == keys([sent], likeness):
        return len(line) if not sent and line else 0
    wrote, has = sent, line
    if likeness is Likeness.LOOKALIKES:
        wrote, has = folded(sent), folded(line)
    if likeness >= Likeness.TRAILING:
        wrote, has = wrote.rstrip(_BLANKS), has.rstrip(_BLANKS)
    if not sent:
        return len(line)
    if not wrote or not has.endswith(wrote):
        return 0 if not wrote and is_blank(line) else None
    return len(has) - len(wrote)


def _ending(line: str, sent: str, likeness: Likeness) -> int | None:
    """Where in its `line` the last line ends; None where it is not there."""
    wrote, has = (folded(sent), folded(line)) if likeness is Likeness.LOOKALIKES else (sent, line)
    indent = 0
    if likeness >= Likeness.INDENTATION and wrote.strip(_BLANKS):
        indent = len(has) - len(has.lstrip(_BLANKS))
        wrote, has = wrote.lstrip(_BLANKS), has[indent:]
    if has.startswith(wrote):
        return indent + len(wrote)
    short = wrote.rstrip(_BLANKS)
    if likeness >= Likeness.TRAILING and short != wrote and has.startswith(short) and is_blank(has[len(short) :]):
        return indent + len(has)
    return None
