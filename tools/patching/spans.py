"""Changes of a text as spans, and the text as lines with the places where they begin."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, count
from operator import add
from typing import NamedTuple


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

    __slots__ = ("lines", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
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

    def whole(self, index: int) -> str:
        """The line with its ending."""
        return self.text[self.starts[index] : self.starts[index + 1]]

    def ending_near(self, index: int) -> str:
        """The line ending that a new line at `index` should get: that of the line before it, or after it."""
        for near in (index - 1, index):
            if 0 <= near < len(self.lines) and (ending := line_ending(self.whole(near))):
                return ending
        return "\r\n" if "\r\n" in self.text else "\n"


def line_starts(lines: Sequence[str]) -> list[int]:
    """Where lines begin that one character ends each, and at last where the text ends."""
    return [0, *map(add, accumulate(map(len, lines)), count(1))]


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
