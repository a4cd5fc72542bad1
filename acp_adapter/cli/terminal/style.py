"""How the transcript looks: colours and signs on a terminal, plain ASCII in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

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
