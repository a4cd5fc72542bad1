"""Reading files that a person keeps: what stands in a file's place is no reason to wait, or to read for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from tools.os_compat import O_CLOEXEC, O_NOCTTY, O_NONBLOCK


def open_file(path: Path) -> BinaryIO:
    """A file to be read; the null device counts as one.

    Raises:
        OSError: it cannot be read, or is no file: a pipe, a socket, a device.
    """
    # Without O_NONBLOCK a pipe is waited for until somebody writes.
    stream = os.fdopen(os.open(path, os.O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), "rb")
    found = os.fstat(stream.fileno())
    is_null = stat.S_ISCHR(found.st_mode) and found.st_rdev == Path(os.devnull).stat().st_rdev
    if stat.S_ISREG(found.st_mode) or is_null:
        return stream
    stream.close()
    raise OSError(errno.EINVAL, "It is a pipe, a socket or a device, and no file", str(path))


def read_file(path: Path) -> bytes:
    """The content of a file.

    Raises:
        OSError: as `open_file`.
    """
    with open_file(path) as stream:
        return stream.read()


def read_text(path: Path) -> str:
    """Its text, with the line ends that it has.

    Raises:
        OSError: as `read_file`. UnicodeDecodeError: it is not UTF-8.
    """
    return read_file(path).decode("utf-8")


def why_unreadable(problem: OSError | UnicodeDecodeError) -> str:
    """What `read_text` has raised, in words, without the file's name."""
    if isinstance(problem, UnicodeDecodeError):
        line = problem.object[: problem.start].count(b"\n") + 1
        return f"it is not UTF-8 (line {line})"
    return problem.strerror or type(problem).__name__
