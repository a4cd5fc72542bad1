"""Runs a program in a pseudo-terminal, types into it, and takes down what it shows."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

COLUMNS = 96
_LINES = 60
_LONGEST = 20.0
_CODE = re.compile(r"\x1b(?:\[[\d;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")
_PIECE = re.compile(r"\x1b(?:\[([\d;?]*)([A-Za-z])|\][^\x07]*\x07|[=>])|[\s\S]")


class SceneStuckError(RuntimeError):
    """What a scene waits for did not come."""


@dataclass(frozen=True, slots=True)
class Step:
    """Once `seen` stands in the text that came since the last step, without codes, `typed` is typed."""

    seen: str
    typed: str


def played(
    command: Sequence[str], steps: Sequence[Step], cwd: Path, environment: Mapping[str, str], until: str = ""
) -> list[str]:
    """The lines that the program has shown at its end, or at the moment when `until` stood there.

    Raises:
        SceneStuckError: it waits for something that does not come.
    """
    descriptor, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, COLUMNS, 0, 0))
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=inner, stdout=inner, stderr=inner, start_new_session=True
    ) as program:
        os.close(inner)
        try:
            shown = _until_its_end(descriptor, list(steps))
        except SceneStuckError:
            program.kill()
            raise
        finally:
            os.close(descriptor)
    text = shown.decode("utf-8", "replace")
    before, mark, _ = text.partition(until) if until else (text, "", "")
    return on_screen(before + mark)


def on_screen(text: str) -> list[str]:
    """The lines, with their colours, that are left on a screen without an end once what was drawn over is gone."""
    screen = _Screen()
    for found in _PIECE.finditer(text):
        screen.take(found[0], found[1] or "", found[2] or "")
    return screen.lines()


class _Screen:
    """Cells by row and column: each its sign and the codes of its look."""

    def __init__(self) -> None:
        self._rows: list[dict[int, tuple[str, tuple[str, ...]]]] = [{}]
        self._row = self._column = 0
        self._look: tuple[str, ...] = ()

    def take(self, piece: str, values: str, kind: str) -> None:
        """A sign, or a code with its values and its kind."""
        many = int(values) if values.isdigit() else 0
        match kind:
            case "":
                self._put(piece)
            case "A" | "B":
                self._go(self._row + (many or 1) * (-1 if kind == "A" else 1), self._column)
            case "C" | "D":
                self._go(self._row, self._column + (many or 1) * (-1 if kind == "D" else 1))
            case "J" | "K":
                if kind == "J":
                    del self._rows[self._row + 1 :]
                row = self._rows[self._row]
                self._rows[self._row] = {at: cell for at, cell in row.items() if at < self._column and not many}
            case "m":
                for code in values.split(";"):
                    self._look = (*self._look, code) if code.strip("0") else ()

    def _put(self, sign: str) -> None:
        match sign:
            case "\r":
                self._go(self._row, 0)
            case "\n":
                self._go(self._row + 1, self._column)
            case "\x08":
                self._go(self._row, self._column - 1)
            case _ if sign.isprintable():
                if self._column == COLUMNS:
                    self._go(self._row + 1, 0)
                self._rows[self._row][self._column] = (sign, self._look)
                self._column += 1

    def lines(self) -> list[str]:
        """What is shown; a look stands before its text, and ends with it."""
        lines = ["".join(self._text(row)) for row in self._rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _text(self, row: Mapping[int, tuple[str, tuple[str, ...]]]) -> Iterator[str]:
        cells = [row.get(at, (" ", ())) for at in range(max(row, default=-1) + 1)]
        for look, group in groupby(cells, key=itemgetter(1)):
            text = "".join(sign for sign, _ in group)
            yield f"\x1b[{';'.join(look)}m{text}\x1b[0m" if look else text

    def _go(self, row: int, column: int) -> None:
        self._row, self._column = max(0, row), max(0, column)
        self._rows += [{} for _ in range(self._row + 1 - len(self._rows))]


def _until_its_end(descriptor: int, steps: list[Step]) -> bytes:
    shown, looked_at, deadline = b"", 0, time.monotonic() + _LONGEST
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise SceneStuckError(f"nothing came any more; the last was {shown[-300:]!r}, next is {steps[:1]}")
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # Linux's word for the other end being closed
            piece = b""
        if not piece:
            return shown
        shown += piece
        plain = _CODE.sub("", shown.decode("utf-8", "replace"))
        while steps and (at := plain.find(steps[0].seen, looked_at)) >= 0:
            looked_at = at + len(steps[0].seen)
            os.write(descriptor, steps.pop(0).typed.encode())
