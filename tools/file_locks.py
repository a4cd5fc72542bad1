"""Locks of files against other processes: held as long as the descriptor is open."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tools.os_flags import O_CLOEXEC

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PAUSE = 0.05


def lock(descriptor: int, *, waits: bool = False) -> None:
    """Hold the file for this process alone.

    Raises:
        BlockingIOError: another holds it, and `waits` is false. OSError: the file system knows no locks.
    """
    if sys.platform == "win32":
        _lock_on_windows(descriptor, waits=waits)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)


def open_to_lock(directory: Path) -> int:
    """A descriptor that stands for the directory in `lock`.

    Raises:
        OSError: it cannot be opened.
    """
    if sys.platform == "win32":  # which opens no directories
        return os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
    return os.open(directory, os.O_RDONLY | O_CLOEXEC)


@contextlib.contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Nobody else, in whatever process, is in there meanwhile; waits for who is.

    Raises:
        OSError: the directory cannot be opened, or the file system knows no locks.
    """
    descriptor = open_to_lock(directory)
    try:
        lock(descriptor, waits=True)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":

    def _lock_on_windows(descriptor: int, *, waits: bool) -> None:
        while True:
            try:
                os.lseek(descriptor, 0, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError as problem:
                if not waits:
                    raise BlockingIOError(problem.errno, "another process holds it") from problem
                time.sleep(_PAUSE)
            else:
                return
