"""The file that a recording goes to: made for its owner alone; one that holds anything else stays as it is."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, TypeGuard

from agent_core.errors import RequestError
from tools.os_compat import O_CLOEXEC, O_NONBLOCK

_FIRST_LINE = 1_000_000
_LONGEST = 1e9
"""Seconds, more than thirty years: no recording lasts so long, and what is said of more is not a time."""


def open_recording(path: Path) -> int:
    """A descriptor that writes at the file's end, behind a whole line.

    Raises:
        RequestError: what is there is no recording, or is the connection itself; it stays as it was.
        OSError: it cannot be opened for writing. A named pipe must have a reader.
    """
    # Not to wait for somebody who reads a pipe: the editor waits for us.
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    try:
        os.set_blocking(file, True)
        _check(path, file)
    except BaseException:
        os.close(file)
        raise
    return file


def _check(path: Path, file: int) -> None:
    found = os.fstat(file)
    if _is_connection(found):
        raise RequestError(
            f"--record: {path} is where the messages themselves go (stdin or stdout). Name a file for them."
        )
    if stat.S_ISREG(found.st_mode) and found.st_size:
        _go_on(path, file, found.st_size)


def _is_connection(found: os.stat_result) -> bool:
    if os.path.samestat(found, Path(os.devnull).stat()):
        return False
    for public in (0, 1):
        try:
            if os.path.samestat(found, os.fstat(public)):
                return True
        except OSError:  # it is closed
            continue
    return False


def _go_on(path: Path, file: int, size: int) -> None:
    with path.open("rb") as there:
        first = there.readline(_FIRST_LINE)
        there.seek(size - 1)
        is_whole = there.read(1) == b"\n"
    if not _is_recording(first):
        raise RequestError(
            f"--record: {path} holds something that is no recording, and stays as it is. Name another file."
        )
    if not is_whole:  # whoever wrote it was killed, or the disk was full
        os.write(file, b"\n")


def _is_recording(line: bytes) -> bool:
    try:
        return is_entry(json.loads(line))
    except (ValueError, RecursionError):
        return False


def is_entry(entry: object) -> TypeGuard[dict[str, Any]]:
    """Whether this is what a line of a recording holds."""
    match entry:
        case {"recording": int()}:
            return True
        case {"dir": "in" | "out", "t": int() | float() as at, "frame": _}:
            return -_LONGEST < at < _LONGEST
        case {"dir": "in" | "out", "t": int() | float() as at, "line": str()}:
            return -_LONGEST < at < _LONGEST
    return False
