"""How text looks in a terminal: colours and signs, the columns it takes, changes of files."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from acp_adapter.format import visible_text

# Colours and signs on a terminal, plain ASCII in a pipe.

Colour = Literal["bold", "dim", "italic", "underline", "strike", "red", "green", "yellow", "cyan"]
Sign = Literal[
    "pending",
    "in_progress",
    "completed",
    "failed",
    "answer",
    "bar",
    "dot",
    "more",
    "bullet",
    "rule",
    "cross",
    "chosen",
]

_CODES: Mapping[Colour, str] = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "strike": "9",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_SIGNS: Mapping[Sign, tuple[str, str]] = {
    "pending": ("○", "o"),
    "in_progress": ("▶", ">"),
    "completed": ("✓", "+"),
    "failed": ("✗", "x"),
    "answer": ("→", "->"),
    "bar": ("│", "|"),
    "dot": ("·", "-"),
    "more": ("…", "..."),
    "bullet": ("•", "-"),
    "rule": ("─", "-"),
    "cross": ("┼", "+"),
    "chosen": ("❯", ">"),
}


@dataclass(frozen=True, slots=True)
class Style:
    """What the output can show.

    Attributes:
        colour: escape codes for colours are wanted.
        signs: signs beyond ASCII can be shown.
        live: somebody looks at a window: what the agent says is shown as what it means, not as it was written, and
            lines that only say what goes on are drawn and taken away again.
        columns: the columns of the window as it is now; 0 where lines may be as long as they are.
        rows: its rows; 0 where they are not known.
    """

    colour: bool = False
    signs: bool = False
    live: bool = False
    columns: Callable[[], int] = int
    rows: Callable[[], int] = int

    @property
    def width(self) -> int:
        """The columns of the window now, which people make wider and narrower; 0 is without an end."""
        return self.columns()

    @property
    def height(self) -> int:
        """The rows of the window now; 0 where they are not known."""
        return self.rows()

    def paint(self, text: str, *colours: Colour) -> str:
        """`text` in `colours`, unchanged where there are none or nothing to paint."""
        if not self.colour or not text or not colours:
            return text
        return f"\x1b[{';'.join(_CODES[colour] for colour in colours)}m{text}\x1b[0m"

    def sign(self, name: Sign) -> str:
        """The sign called `name`."""
        return _SIGNS[name][0 if self.signs else 1]


def style_for(stream: TextIO, environment: Mapping[str, str] = os.environ) -> Style:
    """The style that fits `stream`: plain unless it is a terminal; `NO_COLOR` takes the colours away."""
    if not stream.isatty() or environment.get("TERM") == "dumb":
        return Style()
    signs = (stream.encoding or "").lower().replace("-", "") == "utf8"
    return Style(
        not environment.get("NO_COLOR"),
        signs,
        live=sys.platform != "win32",
        columns=lambda: _size(stream).columns,
        rows=lambda: _size(stream).lines,
    )


def _size(stream: TextIO) -> os.terminal_size:
    try:
        return os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):  # it says that it is a terminal, and has no size
        return os.terminal_size((0, 0))


# How many columns of a terminal a text takes, by wcwidth's tables; escape sequences take none.


def columns(text: str) -> int:
    """The columns that `text` takes: two for wide signs, none for accents and for what only colours it."""
    if text.isascii() and text.isprintable():
        return len(text)
    from wcwidth import width  # noqa: PLC0415 - most texts are ASCII

    return width(text)


def clipped(text: str, room: int, more: str) -> str:
    """`text` in `room` columns: where it takes more, its beginning, and `more` to say so."""
    if columns(text) <= room:
        return text
    from wcwidth import clip  # noqa: PLC0415 - as above

    return f"{clip(text, 0, max(0, room - len(more))).rstrip()}{more}"


def wrapped(text: str, width: int, first: str = "", rest: str = "", *, breaks_words: bool = False) -> list[str]:
    """`text` in lines of `width` columns, broken between words, or between wide signs.

    Args:
        first: what stands before the first line, `rest` before the others; both count.
        breaks_words: a word that has no room in a line goes on in the next; else it is left whole, to be copied.
    """
    from wcwidth import strip_sequences, wrap  # noqa: PLC0415 - as above

    seen = strip_sequences(text)
    return wrap(
        text,
        max(width, columns(first) + 1, columns(rest) + 1),
        initial_indent=first,
        subsequent_indent=rest,
        # Where there are no blanks between words, every place is one to break at.
        break_long_words=breaks_words or columns(seen) > len(seen),
        break_on_hyphens=False,
    )


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows of cells as lines: each column is as wide as its widest cell, those in `right` are set to the right."""
    widths = [max(map(columns, cells)) for cells in zip(*rows, strict=True)]
    lines: list[str] = []
    for row in rows:
        gaps = [" " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = (
            gap + cell if at in right else cell + gap for at, (cell, gap) in enumerate(zip(row, gaps, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return lines


# A file's change as the lines of a unified diff.

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
