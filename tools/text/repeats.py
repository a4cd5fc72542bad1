"""Shortens what a program prints again and again: a line repeated, or the lines of a progress that only grow."""

from __future__ import annotations

import itertools
import re

_SAME_LINES = 6
_PROGRESS_LINES = 10
_KEPT_ENDS = 2
_PERCENT = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d+)?)\s?%")
# Numbers that stand alone, with their units; not those in names.
_NUMBER = re.compile(r"(?<![\w./-])\d[\d.,:]*(?:\s?(?:[kKMGT]i?)?[Bb](?:/s)?|[smh]|ms)?(?![\w/-])")
_BAR = re.compile(r"\[[\s=#>.*-]*\]|[\u2580-\u259f\u2500-\u257f\u2800-\u28ff]+|[=#>.*-]{3,}")
_BLANKS = re.compile(r"\s+")


def shortened(text: str) -> str:
    """`text` with a count in place of lines that tell nothing new. Short texts stay as they are."""
    if text.count("\n") < _SAME_LINES:
        return text
    lines = _without_progress(text.split("\n"))
    return "\n".join(
        itertools.chain.from_iterable(_run(line, len(list(run))) for line, run in itertools.groupby(lines))
    )


def _run(line: str, count: int) -> list[str]:
    if count < _SAME_LINES:
        return [line] * count
    return [line, f"[… the same line {count - 1} more times]"]


def _without_progress(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for shape, group in itertools.groupby(lines, _shape):
        run = list(group)
        if not shape or len(run) < _PROGRESS_LINES or not _only_grows(run):
            kept.extend(run)
            continue
        kept.extend((run[0], f"[… {len(run) - _KEPT_ENDS} lines of this progress left out]", run[-1]))
    return kept


def _shape(line: str) -> str:
    """What the line is without its numbers and bars, '' when it tells no percentage."""
    if "%" not in line or not _PERCENT.search(line):
        return ""
    return _BLANKS.sub(" ", _BAR.sub("", _NUMBER.sub("0", _PERCENT.sub("0%", line))))


def _only_grows(lines: list[str]) -> bool:
    shares = [float(found[1]) for found in map(_PERCENT.search, lines) if found]
    return shares[0] < shares[-1] and all(earlier <= later for earlier, later in itertools.pairwise(shares))
