"""A list to choose from with the arrow keys: what it shows, and what each key does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acp_adapter.cli.terminal.columns import columns, wrapped
from acp_adapter.cli.terminal.drawing import rows
from acp_adapter.cli.terminal.safe_text import visible_line
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
        """What is shown of it now, as wide as the window, and no higher: then what is chosen and what is near it."""
        width = max(_LEAST_WIDTH, style.width or _UNKNOWN_WIDTH) - 1
        hints = wrapped(hint, width, _INDENT, _INDENT)
        room = style.height - rows(hints, style) - 1  # the last row is the cursor's
        shown = self._near(style, width, room) if style.height else range(len(self._entries))
        lines = [line for number in shown for line in self._entry(number, style, width)]
        above, below = shown.start, len(self._entries) - shown.stop
        lines[:0] = [style.paint(f"{_INDENT}({above} more above)", "dim")] if above else []
        lines += [style.paint(f"{_INDENT}({below} more below)", "dim")] if below else []
        return lines + [style.paint(line, "dim") for line in hints]

    def _near(self, style: Style, width: int, room: int) -> range:
        """The entries around the chosen one for which there is room, in rows of the window; that one at least."""
        plain = Style(signs=style.signs, columns=style.columns)
        if sum(rows(self._entry(number, plain, width), plain) for number in range(len(self._entries))) <= room:
            return range(len(self._entries))
        first = last = self.at
        room -= rows(self._entry(self.at, plain, width), plain) + 2  # two lines say how many others there are
        is_open = True
        while is_open:
            is_open = False
            for number in (last + 1, first - 1):
                if not 0 <= number < len(self._entries):
                    continue
                taken = rows(self._entry(number, plain, width), plain)
                if taken <= room:
                    room, is_open = room - taken, True
                    first, last = min(first, number), max(last, number)
        return range(first, last + 1)

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
        room = max(_LEAST_WIDTH, width - columns(lead)) + columns(lead)
        lines = wrapped(visible_line(entry.label), room, lead, " " * columns(lead), breaks_words=True) or [lead]
        return [style.paint(line, "bold", "cyan") for line in lines] if is_at else lines
