"""Lines compared: how alike they are, where a span of them stands, indentation, merging."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from enum import IntEnum
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from tools.light_dataclass import dataclass
from tools.text.matching import line_starts

# How alike two lines have to be, from the same characters to what only looks the same.

_BLANKS = " \t"
_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
    # A byte that is not UTF-8, as servers and editors send it back.
    **dict.fromkeys(map(chr, range(0xDC80, 0xDD00)), "\ufffd"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
}
_LOOKALIKE = re.compile(f"[{''.join(_PLAIN)}]")
_MAX_COMPARED_CHARS = 2000


class Likeness(IntEnum):
    """What may differ between a line as it was sent and as the file has it; each step allows those before too."""

    EXACT = 0
    TRAILING = 1
    INDENTATION = 2
    LOOKALIKES = 3

    @property
    def told(self) -> str:
        """What was not taken seriously, for the model to read."""
        return ("", "trailing blanks", "indentation", "look-alike characters (quotes, dashes, spaces)")[self]


def folded(text: str) -> str:
    """The text with quotes, dashes and spaces of all kinds made plain; every character stays where it is."""
    return text if text.isascii() else _LOOKALIKE.sub(lambda found: _PLAIN[found[0]], text)


def keys(lines: Sequence[str], likeness: Likeness) -> list[str]:
    """Lines in a form in which those that are alike enough are the same."""
    match likeness:
        case Likeness.EXACT:
            return list(lines)
        case Likeness.TRAILING:
            return [line.rstrip(_BLANKS) for line in lines]
        case Likeness.INDENTATION:
            return [line.strip(_BLANKS) for line in lines]
    return [folded(line).strip(_BLANKS) for line in lines]


def runs(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Every index at which the lines `wanted` come one after the other. `wanted` is not empty."""
    # The longest line is the rarest, mostly; looking for one string in a list is quick.
    rare = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    starts = (index - rare for index in indexes(lines, wanted[rare]))
    wanted = list(wanted)
    return [start for start in starts if start >= 0 and list(lines[start : start + len(wanted)]) == wanted]


def indexes(lines: Sequence[str], wanted: str) -> list[int]:
    """Where the line `wanted` is."""
    found: list[int] = []
    start = 0
    try:
        while True:
            start = lines.index(wanted, start) + 1
            found.append(start - 1)
    except ValueError:
        return found


def indent_of(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def is_blank(line: str) -> bool:
    """Whether a line has nothing but blanks."""
    return not line.strip(_BLANKS)


def with_characters_of(has: str, wrote: str, new: str) -> str:
    """`new`, with the file's own characters where it does not differ from what was sent.

    Args:
        has: what the file has; as long as `wrote`, and alike.
        wrote: how the old text was sent.
        new: what shall be there, written in the same manner as `wrote`.
    """
    if has == wrote or len(has) != len(wrote) or max(len(wrote), len(new)) > _MAX_COMPARED_CHARS:
        return new
    parts: list[str] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, wrote, new, autojunk=False).get_opcodes():
        if tag != "equal":
            parts.append(new[new_start:new_end])
        elif not _runs_on(has[start:end], new, new_start, new_end):
            parts.append(has[start:end])
        else:
            # «–» kept beside a new «-» is neither of the two.
            return new
    return "".join(parts)


def _runs_on(kept: str, new: str, start: int, end: int) -> bool:
    """Whether the file's own character at an end of what is kept would stand beside the same one as it was sent."""
    first = kept[0] != new[start] and start > 0 and new[start - 1] == new[start]
    return first or (kept[-1] != new[end - 1] and end < len(new) and new[end] == new[end - 1])


# Changes of a text as spans, and the text as lines with the places where they begin.


class Span(NamedTuple):
    """The characters from `start` to `end` (exclusive) become `new`."""

    start: int
    end: int
    new: str


class TextLines:
    """A text as lines. Only LF and CRLF end a line; what comes after the last of them is a line unless empty.

    Attributes:
        text: all of it.
        lines: the lines without their endings.
        starts: where each line begins in `text`, and at last where the text ends.
    """

    __slots__ = ("_keys", "lines", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._keys: dict[Likeness, list[str]] = {}
        raw = text.split("\n")
        ends_itself = not raw[-1]
        if ends_itself:
            raw.pop()
        self.starts = line_starts(raw)
        self.starts[-1] = len(text)
        self.lines = raw
        if "\r\n" in text:
            # A carriage return that no line feed follows is a character like any other.
            last = None if ends_itself else raw[-1]
            self.lines = [line.removesuffix("\r") for line in raw]
            if last is not None:
                self.lines[-1] = last

    def __len__(self) -> int:
        return len(self.lines)

    def keys(self, likeness: Likeness) -> list[str]:
        """The keys of all lines."""
        if likeness not in self._keys:
            self._keys[likeness] = keys(self.lines, likeness)
        return self._keys[likeness]

    def whole(self, index: int) -> str:
        """The line with its ending."""
        return self.text[self.starts[index] : self.starts[index + 1]]

    def ending_near(self, index: int) -> str:
        """The line ending that a new line at `index` should get: that of the line before it, or after it."""
        for near in (index - 1, index):
            if 0 <= near < len(self.lines) and (ending := line_ending(self.whole(near))):
                return ending
        return "\r\n" if "\r\n" in self.text else "\n"


def line_ending(line: str) -> str:
    """The ending of a line: CRLF, LF or nothing."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def ending_at(text: str, position: int) -> str:
    """The ending of the line that `position` is in; of the line before where the line has none."""
    feed = text.find("\n", position)
    if feed < 0:
        feed = text.rfind("\n", 0, position)
    return "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"


def applied(text: str, spans: Iterable[Span]) -> str:
    """The text with every span changed. They are in order and do not overlap."""
    parts: list[str] = []
    end = 0
    for span in spans:
        parts += [text[end : span.start], span.new]
        end = span.end
    return "".join([*parts, text[end:]])


def moved(places: Iterable[int], spans: Sequence[Span]) -> list[int]:
    """Where places of a text are after its `spans`, which are in order, were changed."""
    ends = [span.end for span in spans]
    growths = [0, *accumulate(len(span.new) - (span.end - span.start) for span in spans)]
    return [place + growths[bisect_right(ends, place)] for place in places]


def places_after(spans: Sequence[Span]) -> list[int]:
    """Where each span begins in the text that they make."""
    shift = 0
    places: list[int] = []
    for span in spans:
        places.append(span.start + shift)
        shift += len(span.new) - (span.end - span.start)
    return places


def line_numbers(text: str, places: Iterable[int]) -> list[int]:
    """The lines (1-based) that the places are in, in order and each once."""
    numbers: list[int] = []
    line, seen = 1, 0
    for place in sorted(places):
        line += text.count("\n", seen, place)
        seen = place
        if not numbers or numbers[-1] != line:
            numbers.append(line)
    return numbers


# Finds how the indentation of a file differs from that of a text that was sent, so that new lines can be shifted.


@dataclass(frozen=True, slots=True)
class Shift:
    """How the indentation of a line as it was sent becomes that of the file.

    Attributes:
        known: indentations that both have, as sent → as in the file.
        add, drop: what comes before every indentation, or is taken from its beginning.
        unit: a character of the file's indentation, where it is of other characters or of another width.
        ratio: how many of those stand for one that was sent.
        least: what is indented by less than these many characters, as sent, cannot be known.
    """

    known: tuple[tuple[str, str], ...] = ()
    add: str = ""
    drop: str = ""
    unit: str = ""
    ratio: Fraction = Fraction(1)
    least: int = 0

    def line(self, line: str) -> str | None:
        """The line with the file's indentation, None where that cannot be known."""
        if is_blank(line) or self == SAME:
            return line
        sent = indent_of(line)
        found = dict(self.known).get(sent)
        has = self._indentation(sent) if found is None else found
        return None if has is None else has + line[len(sent) :]

    def _indentation(self, sent: str) -> str | None:
        if len(sent) < self.least:
            return None
        if not self.unit:
            shifted = self.add + sent.removeprefix(self.drop)
            is_mixture = " " in shifted and "\t" in shifted
            return shifted if sent.startswith(self.drop) and (not is_mixture or self._mixes()) else None
        units = len(sent) * self.ratio
        return self.unit * units.numerator if units.denominator == 1 and len(set(sent)) <= 1 else None

    def _mixes(self) -> bool:
        return any(" " in has and "\t" in has for _, has in self.known)


SAME = Shift()


def shift_between(pairs: Iterable[tuple[str, str]]) -> Shift | None:
    """The one way in which the indentation of all lines differs, None where they do not differ alike.

    Args:
        pairs: lines as they were sent, each with the same line in the file. Blank ones say nothing.
    """
    known = dict.fromkeys((indent_of(sent), indent_of(has)) for sent, has in pairs if not is_blank(sent))
    if len({sent for sent, _ in known}) != len(known):
        return None
    if all(sent == has for sent, has in known):
        return SAME
    uniform, scaled = _uniform(tuple(known)), _scaled(tuple(known))
    if uniform is None or scaled is None:
        return uniform or scaled
    # Two spaces for four: shifted or of another width? What is within is the same block in either case.
    return replace(uniform, least=min(len(sent) for sent, _ in known))


def _uniform(known: tuple[tuple[str, str], ...]) -> Shift | None:
    """All lines have the same blanks more, or less."""
    sent, has = known[0]
    add, drop = has.removesuffix(sent), sent.removesuffix(has)
    if has.endswith(sent) and all(other == add + one for one, other in known):
        return Shift(known, add=add)
    if sent.endswith(has) and all(one == drop + other for one, other in known):
        return Shift(known, drop=drop)
    return None


def _scaled(known: tuple[tuple[str, str], ...]) -> Shift | None:
    """Each level is of other characters or of another width: a tab for four spaces."""
    units = {character for _, has in known for character in has}
    deep = [(sent, has) for sent, has in known if sent or has]
    if len(units) != 1 or any(not sent or not has or len(set(sent)) != 1 for sent, has in deep):
        return None
    ratios = {Fraction(len(has), len(sent)) for sent, has in deep}
    return Shift(known, unit=units.pop(), ratio=ratios.pop()) if len(ratios) == 1 else None


# New lines in the manner of the file: what the model did not mean to change stays as the file has it.

_MAX_PAIRS = 100_000

Merged = list[tuple[str, int | None]]
"""New lines, each with the index of the file's line that it is unchanged, None where it is not."""


def merged(
    sent: Sequence[str], has: Sequence[str], new: Sequence[str], likeness: Likeness, *, begins_within: bool = False
) -> Merged | None:
    """`new` for the place of `has`, which was sent as `sent`; None where the new indentation cannot be known.

    `begins_within` says that the first line is only the end of a line, so that it has no indentation to speak of.
    """
    if begins_within:
        rest = merged(sent[1:], has[1:], new[1:], likeness)
        if rest is None:
            return None
        kept = None if new[0] != sent[0] else 0
        first = has[0] if kept == 0 else with_characters_of(has[0], sent[0], new[0])
        return [(first, kept), *((line, None if index is None else index + 1) for line, index in rest)]
    # Other blanks than spaces and tabs count as what they look like.
    plain = [folded(line) for line in has] if likeness is Likeness.LOOKALIKES else has
    shift = shift_between(zip(sent, plain, strict=True))
    if shift is None:
        return None
    made: Merged = []
    for tag, start, end, new_start, new_end in _opcodes(sent, new):
        if tag == "equal":
            made += [(has[index], index) for index in range(start, end)]
            continue
        fitted = fitted_lines(sent[start:end], has[start:end], new[new_start:new_end], shift, likeness)
        if fitted is None:
            return None
        made += [(line, None) for line in fitted]
    return made


def _opcodes(sent: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """How `new` differs from `sent`. Where most lines are the same ones again, exactness would take minutes."""
    there = Counter(sent)
    is_costly = sum(there[line] for line in new) > _MAX_PAIRS
    return SequenceMatcher(None, sent, new, autojunk=is_costly).get_opcodes()


def fitted_lines(
    sent: Sequence[str], has: Sequence[str], new: Sequence[str], shift: Shift, likeness: Likeness
) -> list[str] | None:
    """`new` with the file's indentation, and its characters where lines are changed one for one.

    Returns:
        None where the indentation of a line cannot be known.
    """
    if likeness is Likeness.LOOKALIKES and len(sent) == len(new):
        new = [_with_own_characters(*lines) for lines in zip(sent, has, new, strict=True)]
    shifted = [shift.line(line) for line in new]
    fitted = [line for line in shifted if line is not None]
    return fitted if len(fitted) == len(shifted) else None


def _with_own_characters(sent: str, has: str, new: str) -> str:
    body = new[len(indent_of(new)) :]
    return indent_of(new) + with_characters_of(has.strip(" \t"), sent.strip(" \t"), body)
