"""Reads what `rg --json` prints: the matching lines of one page with the lines around them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """A line (1-based) of the file `name`; `is_match` False marks a line that only stands beside a match."""

    name: str
    number: int
    text: str
    is_match: bool


def matching_lines(output: Iterable[bytes], skip: int, limit: int, context: int, max_chars: int) -> Iterator[Line]:
    """The matches after the first `skip`, `limit` of them, each with up to `context` lines on both sides."""
    taken = 0
    before: list[Line] = []
    last: Line | None = None
    for event in map(json.loads, output):
        if event["type"] not in {"match", "context"}:
            if taken == limit and event["type"] == "end":
                return
            before, last = [], None
            continue
        line = _line(event["data"], event["type"] == "match", max_chars)
        if not line.is_match:
            if last is not None and line.number <= last.number + context:
                yield line
            else:
                before.append(line)
        elif skip > 0:
            skip -= 1
        elif taken == limit:
            return
        else:
            yield from (near for near in before if near.number >= line.number - context)
            yield line
            before, last, taken = [], line, taken + 1


def _line(data: dict[str, Any], is_match: bool, max_chars: int) -> Line:
    raw = _bytes(data["lines"])
    matches = data["submatches"]
    start = matches[0]["start"] if matches else 0
    text = raw.decode(errors="replace").rstrip("\r\n")
    at = len(raw[:start].decode(errors="replace"))
    name = _bytes(data["path"]).decode(errors="surrogateescape")
    return Line(name, data["line_number"], cut_around(text, at, max_chars), is_match)


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
