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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 96
_LINES = 60
_LONGEST = 20.0
_MOVE = re.compile(r"(\n|\r|\x1b\[\d*[AJK])")


class SceneStuckError(RuntimeError):
    """What a scene waits for did not come."""


@dataclass(frozen=True, slots=True)
class Step:
    """Once `seen` stands in what came since the last step, `typed` is typed."""

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
    """The lines that are left on a screen without an end, once what was drawn over or taken away is gone.

    Looked at are line ends, and what menus and progress lines use: up by lines, erase to the line's or screen's end.
    """
    lines, row, is_fresh = [""], 0, False
    for piece in _MOVE.split(text.replace("\r\n", "\n")):
        found = _MOVE.fullmatch(piece)
        if piece == "\n":
            row, is_fresh = row + 1, False
            lines += [""] * (row + 1 - len(lines))
        elif piece == "\r":
            is_fresh = True
        elif found and piece.endswith("A"):
            row, is_fresh = max(0, row - int(piece[2:-1] or 1)), True
        elif found and piece.endswith("J"):
            del lines[row + 1 :]
            lines[row], is_fresh = "", False
        elif found:
            lines[row] = "" if is_fresh else lines[row]
        elif piece:
            lines[row], is_fresh = piece if is_fresh else lines[row] + piece, False
    return "\n".join(lines).rstrip("\n").split("\n")


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
        while steps and (at := shown.find(steps[0].seen.encode(), looked_at)) >= 0:
            looked_at = at + len(steps[0].seen.encode())
            os.write(descriptor, steps.pop(0).typed.encode())
