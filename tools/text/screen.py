"""What is left to read on a screen after a program has moved its cursor about: redrawn progress shows once."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"\x1b\[(?P<numbers>[0-9;]{0,20})(?P<verb>[A-HJKf])|(?P<control>[\n\r\b])|(?P<text>[^\x1b\n\r\b]+)|\x1b"
)
_MOVES = re.compile(r"\x1b\[[0-9;]{0,20}[ABEFHJf]")
_ROWS = 40
_MAX_COLUMN = 2_000


def moves_about(text: str) -> bool:
    """Whether the cursor goes where carriage returns do not reach."""
    return bool(_MOVES.search(text))


def rendered(text: str) -> str:
    """The lines that stay, without spaces at their ends. `text` holds no escape sequences but those of the cursor."""
    screen = _Screen()
    for token in _TOKEN.finditer(text):
        if token["text"] is not None:
            screen.write(token["text"])
        elif token["control"] is not None:
            screen.control(token["control"])
        elif token["verb"] is not None:
            screen.move(token["verb"], token["numbers"])
    return "\n".join(line.rstrip() for line in screen.lines)


class _Screen:
    """Lines without a limit; the last `_ROWS` of them can be reached."""

    def __init__(self) -> None:
        self.lines = [""]
        self._row = 0
        self._column = 0

    def write(self, text: str) -> None:
        line = self.lines[self._row]
        end = self._column + len(text)
        self.lines[self._row] = f"{line[: self._column]:<{self._column}}{text}{line[end:]}"
        self._column = end

    def control(self, which: str) -> None:
        if which == "\n":
            self._go(self._row + 1, 0)
        elif which == "\r":
            self._column = 0
        else:
            self._column = max(0, self._column - 1)

    def move(self, verb: str, given: str) -> None:
        numbers = [int(number[:5]) if number else 0 for number in given.split(";")]
        count = max(1, numbers[0])
        match verb:
            case "A":
                self._go(self._row - count, self._column)
            case "F":
                self._go(self._row - count, 0)
            case "B" | "E":
                self._go(min(self._row + count, len(self.lines) - 1), 0 if verb == "E" else self._column)
            case "C":
                self._column = min(self._column + count, _MAX_COLUMN)
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = min(count - 1, _MAX_COLUMN)
            case "H" | "f":
                column = numbers[1] if len(numbers) > 1 else 1
                self._go(self._top() + min(count, _ROWS) - 1, min(max(1, column), _MAX_COLUMN) - 1)
            case "J":
                self._erase_below(numbers[0])
            case "K":
                self._erase_line(numbers[0])

    def _top(self) -> int:
        return max(0, len(self.lines) - _ROWS)

    def _go(self, row: int, column: int) -> None:
        self._row, self._column = max(row, self._top()), column
        self.lines.extend([""] * (self._row + 1 - len(self.lines)))

    def _erase_below(self, what: int) -> None:
        if what >= 2:  # noqa: PLR2004 - 2 is the whole screen, 3 what has scrolled off as well
            row = self._row - self._top()
            del self.lines[self._top() :]
            self.lines.append("")
            self._go(self._top() + row, self._column)
        elif what == 0:
            del self.lines[self._row + 1 :]
            self._erase_line(0)

    def _erase_line(self, what: int) -> None:
        line = self.lines[self._row]
        if what == 0:
            self.lines[self._row] = line[: self._column]
        elif what == 1:
            self.lines[self._row] = " " * min(self._column, len(line)) + line[self._column :]
        else:
            self.lines[self._row] = ""
