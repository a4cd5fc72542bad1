"""What models write that the file does not have: escapes of JSON or HTML, and the line numbers of read_file."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tools.light_dataclass import dataclass
from tools.patching.v4a import Hunk

_GUTTER = re.compile(r"[ \t]*(\d+)\|")
_ESCAPED_QUOTE = re.compile(r"\\([\"'])")
_NESTED_QUOTE = re.compile(r"\\\\\\[\"']")
_QUOTE_OR_BACKSLASH = re.compile(r"\\([\"'\\])")
_ESCAPE = re.compile(r"\\([\"'\\/nrt])")
_MEANING = {"n": "\n", "r": "\r", "t": "\t"}
_CELL = re.compile(r'"source": \[(\s*)"')
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27);")


@dataclass(frozen=True, slots=True)
class Reading:
    """Another way to read what was sent.

    Attributes:
        old, new: what was meant by the old text and the new one.
        how: «with …», for messages.
        is_lines: the old text begins at the beginning of a line.
    """

    old: str
    new: str
    how: str
    is_lines: bool = False


def readings(old: str, new: str) -> Iterator[Reading]:
    """How a replacement that was not found may be meant, the most likely first."""
    if (numbered := without_numbers(old.split("\n"))) is not None:
        lines = _new_without_numbers(new.split("\n"))
        if lines is not None:
            how = "without the line numbers of read_file (`N|`)"
            yield Reading("\n".join(numbered), "\n".join(lines), how, is_lines=True)
    if _ESCAPED_QUOTE.search(old):
        quotes = {found[1] for found in _ESCAPED_QUOTE.finditer(old)}
        yield Reading(
            _ESCAPED_QUOTE.sub(r"\1", old), _without_backslashes(new, quotes), "without the backslashes before quotes"
        )
    if "\\" in old and "\n" not in old and "\n" not in new:
        yield Reading(_unescaped(old), _unescaped(new), 'with \\n, \\t and \\" as the characters they stand for')
    if _ENTITY.search(old):
        yield Reading(
            _entities_read(old), _entities_read(new), "with &lt; and &amp; as the characters they stand for"
        )


def cell_readings(text: str, old: str, new: str) -> Iterator[Reading]:
    """How a replacement may be meant in a notebook's JSON, where a cell is a list of its lines."""
    source = _CELL.search(text)
    if source is None:
        return
    numbered = next((each for each in readings(old, new) if each.is_lines), None)
    if numbered is not None:
        old, new = numbered.old, numbered.new
    ends = f'\\n",{source[1]}"'
    whole = old.removesuffix("\n"), new.removesuffix("\n")
    for was, becomes in dict.fromkeys(((old, new), whole)):
        for is_ascii in (False, True):
            before, after = (
                ends.join(json.dumps(line, ensure_ascii=is_ascii)[1:-1] for line in part.split("\n"))
                for part in (was, becomes)
            )
            yield Reading(before, after, "as lines of a cell")


def without_numbers(lines: Sequence[str]) -> list[str] | None:
    """The lines without the numbers that read_file puts before them; None where not all have one, or not in order."""
    numbered = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    found = [_GUTTER.match(line) for line in numbered]
    numbers = [int(each[1]) for each in found if each is not None]
    if len(numbers) < len(numbered) or any(one >= other for one, other in pairwise(numbers)):
        return None
    kept = [line[each.end() :] for line, each in zip(numbered, found, strict=True) if each is not None]
    return [*kept, *lines[len(numbered) :]]


def has_numbers(lines: Sequence[str]) -> bool:
    """Whether a line begins as read_file shows it."""
    return any(map(_GUTTER.match, lines))


def _new_without_numbers(lines: Sequence[str]) -> Sequence[str] | None:
    """New lines, which have a number each or none of them; None where only some have."""
    return without_numbers(lines) if has_numbers(lines) else lines


def hunk_without_numbers(hunk: Hunk) -> Hunk | None:
    """The hunk without the numbers that read_file puts before lines; None where not all that was there have one."""
    old = without_numbers(hunk.old)
    added = _new_without_numbers([line.text for line in hunk.lines if line.sign == "+"])
    if not old or added is None:
        return None
    left, new = iter(old), iter(added)
    return replace(
        hunk, lines=tuple(replace(line, text=next(new if line.sign == "+" else left)) for line in hunk.lines)
    )


def _without_backslashes(new: str, quotes: Collection[str]) -> str:
    """The new text with its quotes read as those of the old; as it is where such a quote has no backslash before it.

    Args:
        quotes: those that have one in the old text.
    """
    if any(re.search(rf"(?<!\\){quote}", new) for quote in quotes):
        return new
    return (_QUOTE_OR_BACKSLASH if _NESTED_QUOTE.search(new) else _ESCAPED_QUOTE).sub(r"\1", new)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _MEANING.get(found[1], found[1]), text)


def _entities_read(text: str) -> str:
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)
