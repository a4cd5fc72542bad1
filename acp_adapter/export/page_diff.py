"""The lines of a file's change on a page."""

from __future__ import annotations

from collections.abc import Iterator

from acp_adapter.export.file_change import Change, Line
from acp_adapter.export.markup import Html, join, tag, text

_LINE_CLASSES = {"+": "line add", "-": "line del", " ": "line"}
_MOST_LINES = 5_000


def diff_lines(change: Change) -> Html:
    """The hunks one below the other, with the lines' numbers; the first 5,000 lines."""
    return tag("pre", join(_hunks(change)), class_="diff")


def _hunks(change: Change) -> Iterator[Html]:
    left = _MOST_LINES
    for index, hunk in enumerate(change.hunks):
        if index and left:
            yield tag("span", text("⋯"), class_="gap", aria_hidden="true")
        yield join(_line(line) for line in hunk[:left])
        left = max(0, left - len(hunk))
    more = sum(len(hunk) for hunk in change.hunks) - _MOST_LINES
    if more > 0:
        yield tag("span", text(f"{more:,} more lines are left out."), class_="gap")


def _line(line: Line) -> Html:
    return tag("span", text(f"{line.sign}{line.text}\n"), class_=_LINE_CLASSES[line.sign], data_n=str(line.number))
