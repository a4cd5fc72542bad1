"""What a hunk makes of the lines where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tools.patching.indentation import Shift, shift_between
from tools.patching.likeness import Likeness, folded
from tools.patching.merging import fitted_lines
from tools.patching.spans import Span, TextLines, line_ending
from tools.patching.v4a import Hunk, HunkLine


def hunk_span(text: TextLines, hunk: Hunk, start: int, likeness: Likeness) -> Span | None:
    """The change that a hunk makes whose first line is the line `start` (0-based) of the text.

    Unchanged lines stay as the file has them. New ones get its indentation and its line endings.

    Returns:
        None where the indentation of a new line cannot be known.
    """
    has = text.lines[start : start + len(hunk.old)]
    plain = [folded(line) for line in has] if likeness is Likeness.LOOKALIKES else has
    shift = shift_between(zip(hunk.old, plain, strict=True))
    if shift is None:
        return None
    first, end = start + hunk.head, start + len(hunk.old) - hunk.tail
    made = _core(text, hunk, first, shift, likeness)
    if made is None:
        return None
    ending = text.ending_near(first)
    begin = text.starts[first] if first < len(text) else len(text.text)
    new = _joined(made, ending, is_bare=hunk.ends_bare and end == len(text))
    if new and begin and text.text[begin - 1] != "\n":
        new = ending + new  # what was the last line had no ending
    return Span(begin, text.starts[end] if end < len(text) else len(text.text), new)


def _core(text: TextLines, hunk: Hunk, first: int, shift: Shift, likeness: Likeness) -> list[tuple[str, bool]] | None:
    """The lines from the first change to the last, each with whether it is the file's own and has its ending."""
    made: list[tuple[str, bool]] = []
    place = first
    for taken, put, kept in _steps(hunk.lines[hunk.head : len(hunk.lines) - hunk.tail]):
        has = text.lines[place : place + len(taken)]
        fitted = fitted_lines(taken, has, put, shift, likeness)
        if fitted is None:
            return None
        made += [(line, False) for line in fitted]
        place += len(taken)
        made += [(text.whole(index), True) for index in range(place, place + kept)]
        place += kept
    return made


def _steps(lines: Sequence[HunkLine]) -> Iterator[tuple[list[str], list[str], int]]:
    """What is taken out and put in at one place, and how many unchanged lines follow."""
    taken: list[str] = []
    put: list[str] = []
    for is_kept, group in groupby(lines, key=lambda line: line.sign == " "):
        same_kind = list(group)
        if is_kept:
            yield taken, put, len(same_kind)
            taken, put = [], []
        else:
            taken = [line.text for line in same_kind if line.sign == "-"]
            put = [line.text for line in same_kind if line.sign == "+"]
    if taken or put:
        yield taken, put, 0


def _joined(made: Sequence[tuple[str, bool]], ending: str, *, is_bare: bool) -> str:
    parts: list[str] = []
    for index, (line, is_own) in enumerate(made):
        is_last = index == len(made) - 1
        parts.append(line)
        if is_last and (is_own or is_bare):
            continue
        if not is_own or not line_ending(line):
            parts.append(ending)
    return "".join(parts)
