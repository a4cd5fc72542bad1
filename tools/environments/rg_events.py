"""Reads what `rg --json` prints: the matches of one page, as lines, with the lines around them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tools.light_dataclass import dataclass

# A match that spans more lines than this is cut short.
_MAX_LINES_OF_MATCH = 40


@dataclass(frozen=True, slots=True)
class Line:
    """A line (1-based) of the file `name`.

    `is_match` False marks a line that only stands beside a match. `begins`: how many matches begin in it.
    """

    name: str
    number: int
    text: str
    is_match: bool = False
    begins: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Which matches are wanted: `limit` after the first `skip`, with up to `context` lines on both sides.

    `each`: every place that matches counts, and not the line that it is in. Longer lines are cut to `max_chars`.
    """

    skip: int
    limit: int
    context: int
    max_chars: int
    each: bool = False


def lines_of_page(output: Iterable[bytes], page: Page) -> Iterator[Line]:
    """The lines of the page, in the order of the output; ends as soon as nothing more can belong to it."""
    passed = 0
    end = page.skip + page.limit
    before: list[Line] = []
    last = 0
    for event in map(json.loads, output):
        if event["type"] not in {"match", "context"}:
            if passed >= end and event["type"] == "end":
                return
            before, last = [], 0
            continue
        lines, passed = _lines(event, page, passed)
        to_come = max((line.number for line in lines if line.is_match), default=0)
        for line in lines:
            if line.is_match:
                yield from (near for near in before if near.number >= line.number - page.context)
                yield line
                before, last = [], line.number
            elif last and line.number <= last + page.context:
                yield line
            elif passed >= end and line.number > to_come:
                return
            else:
                before.append(line)
                del before[: -page.context or None]


def _lines(event: dict[str, Any], page: Page, passed: int) -> tuple[list[Line], int]:
    """The lines of an event, and how many matches have passed after it."""
    data = event["data"]
    raw = _bytes(data["lines"])
    name = _bytes(data["path"]).decode(errors="surrogateescape")
    pieces = raw.removesuffix(b"\n").split(b"\n")
    spans = [(match["start"], match["end"]) for match in data["submatches"]] if event["type"] == "match" else []
    if not page.each:
        spans = spans[:1] or ([(0, 0)] if event["type"] == "match" else [])
    first = max(0, page.skip - passed)
    wanted = spans[first : max(first, page.skip + page.limit - passed)]
    lines: list[Line] = []
    at = 0
    since = 0
    for number, piece in enumerate(pieces, data["line_number"]):
        end = at + len(piece)
        here = [span for span in wanted if span[0] <= end and (span[1] > at or span[0] >= at)]
        begins = sum(span[0] >= at for span in here)
        since = 0 if begins else since + 1
        if here and since >= _MAX_LINES_OF_MATCH:
            at = end + 1
            continue
        start = max(0, here[0][0] - at) if here else 0
        text = piece.decode(errors="replace").rstrip("\r")
        column = len(piece[:start].decode(errors="replace"))
        lines.append(Line(name, number, cut_around(text, column, page.max_chars), bool(here), begins))
        at = end + 1
    return lines, passed + len(spans)


def _bytes(value: dict[str, str]) -> bytes:
    # Text that is not UTF-8 comes in base64.
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def cut_around(text: str, at: int, max_chars: int) -> str:
    """`text`, or where it is longer than `max_chars` the part around position `at`, with `…` at the cuts."""
    if len(text) <= max_chars:
        return text
    start = max(0, min(at - max_chars // 3, len(text) - max_chars))
    end = start + max_chars
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
