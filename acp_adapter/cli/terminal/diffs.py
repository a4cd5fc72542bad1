"""A file's change as the lines of a unified diff."""

from __future__ import annotations

import difflib

from acp_adapter.cli.terminal.safe_text import safe_text
from acp_adapter.cli.terminal.style import Colour, Style

_HEADER_LINES = 2
_MOST_LINES = 120


def diff_lines(path: str, before: str | None, after: str, style: Style) -> list[str]:
    """The change of `path` from `before` (None: the file is new) to `after`, coloured and bounded."""
    old_name, new_name = path if before is not None else "/dev/null", path
    lines = list(
        difflib.unified_diff(
            safe_text(before or "").splitlines(), safe_text(after).splitlines(), old_name, new_name, lineterm=""
        )
    )
    shown = [
        style.paint(line, *_colours(line, in_header=index < _HEADER_LINES))
        for index, line in enumerate(lines[:_MOST_LINES])
    ]
    if len(lines) > _MOST_LINES:
        shown.append(style.paint(f"({len(lines) - _MOST_LINES} more lines of diff)", "dim"))
    return shown


def _colours(line: str, *, in_header: bool) -> tuple[Colour, ...]:
    if in_header:
        return ("bold",)
    match line[:1]:
        case "+":
            return ("green",)
        case "-":
            return ("red",)
        case "@":
            return ("cyan",)
        case _:
            return ()
