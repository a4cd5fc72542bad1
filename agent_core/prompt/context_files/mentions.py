"""Finds `@path` in a rules file: other files that it wants read along. The time grows with the text's length only."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A part of a path may be in brackets, as the frameworks have it: app/[slug], app/(shop), app/[[...all]].
_BRACKETED = r"(?<=/)(?:\[{1,2}[\w.-]{1,60}\]{1,2}|\([\w.-]{1,60}\)|\{[\w.-]{1,60}\})"
_MENTION = re.compile(rf"(?<![\w@/.`\\+-])@((?:~/|\.{{1,2}}/|/)?~?[\w.-](?:[\w./~+-]|{_BRACKETED}){{0,250}})")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_COMMENT = ("<!--", "-->")


def mentions_in(text: str) -> Iterator[str]:
    """The paths, as they are written, in order and each once. What stands in code, or in a comment, is none."""
    seen: set[str] = set()
    for line in _prose("".join(_uncommented(text))):
        for found in _MENTION.finditer(" ".join(_uncoded(line))):
            path = found[1].rstrip(".")
            # A name without a dot or a slash is a person's, as @someone.
            if path not in seen and ("." in path or "/" in path):
                seen.add(path)
                yield path


def _uncommented(text: str) -> Iterator[str]:
    """The pieces outside of comments; one that has no end is none."""
    begin, end = _COMMENT
    place = 0
    while (opened := text.find(begin, place)) >= 0 and (closed := text.find(end, opened + len(begin))) >= 0:
        yield text[place:opened]
        place = closed + len(end)
    yield text[place:]


def _uncoded(line: str) -> Iterator[str]:
    """The pieces of a line outside of code, which ends with as many backticks as it begins with."""
    runs = [found.span() for found in _TICKS.finditer(line)]
    ends: list[int | None] = []
    nearest: dict[int, int] = {}
    for number in reversed(range(len(runs))):
        ticks = runs[number][1] - runs[number][0]
        ends.append(nearest.get(ticks))
        nearest[ticks] = number
    ends.reverse()
    place = number = 0
    while number < len(runs):
        last = ends[number]
        if last is not None:
            yield line[place : runs[number][0]]
            place, number = runs[last][1], last
        number += 1
    yield line[place:]


def _prose(text: str) -> Iterator[str]:
    """The lines outside of code blocks."""
    fence = ""
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opened:
            fence = opened[1]
        elif not line.startswith(("    ", "\t")) or line.lstrip().startswith(("-", "*", "@")):
            yield line
