"""A file's change as the lines of a unified diff."""

from __future__ import annotations

from acp_adapter.cli.terminal.safe_text import visible_text
from acp_adapter.cli.terminal.style import Colour, Style

_HEADER_LINES = 2
_MOST_LINES = 120


def diff_lines(path: str, before: str | None, after: str, style: Style) -> list[str]:
    """The change of `path` from `before` (None: the file is new) to `after`, coloured and bounded."""
    lines, rest = diff_and_rest(path, before, after, style)
    if rest:
        lines.append(style.paint(f"({len(rest)} more lines of diff)", "dim"))
    return lines


def diff_and_rest(path: str, before: str | None, after: str, style: Style) -> tuple[list[str], list[str]]:
    """The lines of the change that are shown, and those for whom it is too long; all are coloured."""
    import difflib  # noqa: PLC0415 - most of what is shown is no change

    from tools.text.matching import with_short_lines  # noqa: PLC0415 - the doctor starts where another `tools` is found

    old_name, new_name = path if before is not None else "/dev/null", path
    # The ends of lines are told only where they change: then nothing else may.
    is_told = before is not None and ("\r\n" in before) != ("\r\n" in after)
    old, new = (_lines(text, tells_ends=is_told) for text in (before or "", after))
    diff = list(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))
    head, changes = diff[:_HEADER_LINES], with_short_lines(diff[_HEADER_LINES:], keeps_changes=True)
    lines = [
        style.paint(line, *_colours(line, in_header=index < _HEADER_LINES))
        for index, line in enumerate((*head, *changes))
    ]
    return lines[:_MOST_LINES], lines[_MOST_LINES:]


def _lines(text: str, *, tells_ends: bool) -> list[str]:
    # Nothing in a change may be taken away: it would be made all the same.
    return visible_text(text.replace("\r\n", "\\r\n") if tells_ends else text).splitlines()


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
