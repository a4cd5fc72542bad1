"""Lines at the end of the transcript that are drawn over again, and taken away in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from acp_adapter.cli.terminal.columns import columns
from acp_adapter.cli.terminal.style import Style

_UNKNOWN_WIDTH = 80


class Drawing:
    """The lines as they were drawn last."""

    def __init__(self, out: TextIO, style: Style) -> None:
        self._out = out
        self._style = style
        self._plain: Sequence[str] = ()

    def draw(self, lines: Sequence[str], plain: Sequence[str]) -> None:
        """Show `lines` in place of those before; `plain` are the same without colours."""
        self._out.write(self._back() + "\n".join(lines))
        self._out.flush()
        self._plain = plain

    def erase(self) -> None:
        """Take them away."""
        self._out.write(self._back())
        self._out.flush()
        self._plain = ()

    def forget(self) -> None:
        """Others have written below them: they stay, and what is drawn next begins on a line of its own."""
        if self._plain:
            self._out.write("\r\n")
        self._plain = ()

    def _back(self) -> str:
        """To where the first line began; in a window made narrower since, each may take several."""
        if not self._plain:
            return ""
        above = rows(self._plain, self._style) - 1
        up = f"\x1b[{above}A" if above else ""
        return f"\r{up}\x1b[J"


def rows(lines: Sequence[str], style: Style) -> int:
    """The rows of the window that `lines`, which have no colours, take."""
    width = style.width or _UNKNOWN_WIDTH
    return sum(max(1, -(-columns(line) // width)) for line in lines)
