"""A list to choose from with the arrow keys: what it shows, and what each key does."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from acp_adapter.cli.terminal.columns import columns
from acp_adapter.cli.terminal.safe_text import one_line
from acp_adapter.cli.terminal.style import Style

_INDENT = "    "
_UNKNOWN_WIDTH = 80
_LEAST_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to choose; `letter` chooses it, too."""

    label: str
    letter: str = ""


class Menu:
    """One of several, or with `several` any of them.

    Attributes:
        at: which one is chosen so far.
        marked: which ones are, of several.
    """

    def __init__(
        self, entries: Sequence[Entry], *, at: int = 0, several: bool = False, marked: Sequence[int] = ()
    ) -> None:
        self._entries = entries
        self._several = several
        self.at = at
        self.marked = set(marked)

    def press(self, key: str) -> bool:
        """Do what `key` says; True once the choice is made."""
        match key:
            case "up":
                self.at = (self.at - 1) % len(self._entries)
            case "down":
                self.at = (self.at + 1) % len(self._entries)
            case "enter":
                return True
            case " " if self._several:
                self.marked ^= {self.at}
            case _:
                return self._press_sign(key)
        return False

    def lines(self, style: Style, hint: str) -> list[str]:
        """What is shown of it now, as wide as the window."""
        width = max(_LEAST_WIDTH, style.width or _UNKNOWN_WIDTH) - 1
        shown = [line for number in range(len(self._entries)) for line in self._entry(number, style, width)]
        return [*shown, style.paint(f"{_INDENT}{hint}"[:width], "dim")]

    def _press_sign(self, key: str) -> bool:
        for number, entry in enumerate(self._entries):
            if key and key.lower() in {entry.letter, str(number + 1)}:
                self.at = number
                if not self._several:
                    return True
                self.marked ^= {number}
        return False

    def _entry(self, number: int, style: Style, width: int) -> list[str]:
        entry, is_at = self._entries[number], number == self.at
        sign = style.sign("chosen") if is_at else " "
        box = f"[{'x' if number in self.marked else ' '}] " if self._several else ""
        letter = f"{entry.letter} " if entry.letter else ("  " if any(each.letter for each in self._entries) else "")
        lead = f"{_INDENT}{sign} {letter}{box}"
        # What is allowed is never cut off: a long name goes on in the next line.
        room = max(_LEAST_WIDTH, width - columns(lead))
        first, *more = textwrap.wrap(one_line(entry.label), room) or [""]
        lines = [f"{lead}{first}", *(f"{' ' * columns(lead)}{line}" for line in more)]
        return [style.paint(line, "bold", "cyan") for line in lines] if is_at else lines


class Drawing:
    """Lines at the end of the transcript that are drawn over again, and taken away in the end."""

    def __init__(self, out: TextIO, style: Style) -> None:
        self._out = out
        self._style = style
        self._widths: list[int] = []

    def draw(self, lines: Sequence[str], plain: Sequence[str]) -> None:
        """Show `lines` in place of those before; `plain` are the same without colours."""
        self._out.write(self._back() + "\n".join(lines))
        self._out.flush()
        self._widths = [columns(line) for line in plain]

    def erase(self) -> None:
        """Take them away."""
        self._out.write(self._back())
        self._out.flush()
        self._widths = []

    def _back(self) -> str:
        """To where the first line began; in a window made narrower since, each may take several."""
        if not self._widths:
            return ""
        width = self._style.width or _UNKNOWN_WIDTH
        above = sum(max(1, -(-taken // width)) for taken in self._widths) - 1
        up = f"\x1b[{above}A" if above else ""
        return f"\r{up}\x1b[J"
