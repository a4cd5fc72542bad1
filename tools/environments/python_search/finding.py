"""Finds a pattern in one file's text: how often, and where, as `rg --json` tells it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from tools.environments.python_search.patterns import Pattern

Span = tuple[int, int]


class Finder:
    """Looks for `pattern`; across lines if `spans`."""

    def __init__(self, pattern: Pattern, *, spans: bool = False) -> None:
        self.pattern = pattern
        self.spans = spans

    def count(self, text: str) -> int:
        """How many matches there are: lines, or places where it looks across lines."""
        return sum(1 for _ in self.matches(text))

    def matches(self, text: str) -> Iterator[Span]:
        """Where the matches begin and end; one a line, unless it looks across lines."""
        if self.spans:
            return (found.span() for found in self.pattern.expression.finditer(text) if found.start() < len(text))
        return self._line_by_line(text) if self.pattern.beyond else self._by_candidates(text)

    def _by_candidates(self, text: str) -> Iterator[Span]:
        # What is found in the whole text says no more than that no line before it matches.
        at = 0
        search = self.pattern.expression.search
        while at < len(text) and (candidate := search(text, at)):
            if candidate.start() == len(text) and text.endswith("\n"):
                return  # behind the last break is no line
            start = text.rfind("\n", at, candidate.start()) + 1 or at
            end = text.find("\n", candidate.start())
            end = len(text) if end < 0 else end
            if candidate.end() <= end:
                yield candidate.span()
            elif found := search(text, start, end):
                yield found.span()
            at = end + 1

    def _line_by_line(self, text: str) -> Iterator[Span]:
        at = 0
        seen_break = self.pattern.looks_around
        for line in text.removesuffix("\n").split("\n") if text else ():
            # What looks around sees the line's end as ripgrep's other engine does, with the break.
            if found := self.pattern.expression.search(text[at : at + len(line) + seen_break]):
                yield at + min(found.start(), len(line)), at + min(found.end(), len(line))
            at += len(line) + 1


def events(name: str, text: str, matches: Iterator[Span], context: int) -> Iterator[str]:
    """The lines of JSON about one file: where it begins, its matches, the lines around them, where it ends."""
    path: dict[str, object] = {"path": _text(name)}
    begun = False
    number, at, shown = 1, 0, 0  # line `number` begins at `at`; all before `shown` has been told
    trailing = 0
    for start, end, spans in _blocks(text, matches):
        if not begun:
            yield _event("begin", path)
            begun = True
        for line_start, line_end in _around(text, shown, start, trailing, context):
            number += text.count("\n", at, line_start)
            at = line_start
            yield _event("context", path | _lines(text, line_start, line_end, number, []))
        number += text.count("\n", at, start)
        at = start
        yield _event("match", path | _lines(text, start, end, number, spans))
        shown, trailing = end, context
    if begun:
        for line_start, line_end in _around(text, shown, len(text), trailing, 0):
            number += text.count("\n", at, line_start)
            at = line_start
            yield _event("context", path | _lines(text, line_start, line_end, number, []))
        yield _event("end", path)


def _blocks(text: str, matches: Iterator[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """Whole lines with the matches in them; matches that share a line are together."""
    block: tuple[int, int, list[Span]] | None = None
    for start, end in matches:
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", max(start, end - 1))
        last = len(text) if last < 0 else last + 1
        if block and first < block[1]:
            block = (block[0], max(block[1], last), [*block[2], (start, end)])
            continue
        if block:
            yield block
        block = (first, last, [(start, end)])
    if block:
        yield block


def _around(text: str, start: int, end: int, after: int, before: int) -> list[Span]:
    """The lines between `start` and `end` that are among the first `after` or the last `before`."""
    first: list[Span] = []
    while start < end and len(first) < after:
        stop = text.find("\n", start, end) + 1 or end
        first.append((start, stop))
        start = stop
    last: list[Span] = []
    while end > start and len(last) < before:
        begin = text.rfind("\n", start, end - 1) + 1 or start
        last.append((begin, end))
        end = begin
    return first + last[::-1]


def _lines(text: str, start: int, end: int, number: int, spans: list[Span]) -> dict[str, object]:
    def offset(at: int) -> int:
        return len(text[start:at].encode("utf-8", "surrogateescape"))

    submatches = [{"start": offset(first), "end": offset(last)} for first, last in spans]
    return {"lines": _text(text[start:end]), "line_number": number, "submatches": submatches}


def _text(text: str) -> dict[str, str]:
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode()}


def _event(kind: str, data: dict[str, object]) -> str:
    return json.dumps({"type": kind, "data": data}) + "\n"
