"""How the transcript looks: colours and signs on a terminal, plain ASCII in a pipe."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO

Colour = Literal["bold", "dim", "red", "green", "yellow", "cyan"]
Sign = Literal["pending", "in_progress", "completed", "failed", "answer", "bar", "dot", "more"]

_CODES: Mapping[Colour, str] = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_SIGNS: Mapping[Sign, tuple[str, str]] = {
    "pending": ("○", "o"),
    "in_progress": ("▶", ">"),
    "completed": ("✓", "+"),
    "failed": ("✗", "x"),
    "answer": ("→", "->"),
    "bar": ("│", "|"),
    "dot": ("·", "-"),
    "more": ("…", "..."),
}


@dataclass(frozen=True, slots=True)
class Style:
    """What the output can show.

    Attributes:
        colour: escape codes for colours are wanted.
        signs: signs beyond ASCII can be shown.
        width: columns of the terminal; 0 where lines may be as long as they are.
    """

    colour: bool = False
    signs: bool = False
    width: int = 0

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
    return Style(colour=not environment.get("NO_COLOR"), signs=signs, width=_width(stream))


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:  # it says that it is a terminal, and has no size
        return 0
