"""Small files that several processes change: locked by all of them, replaced whole, for their owner alone.

Whoever has such a file names the `error` that is raised with what is wrong with it: which file, why, and what to do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from tools.errors import ToolInterrupted
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, set_mode

MODE = 0o600
_POLL = 0.02

MakeError = Callable[[str], Exception]


def hold(
    path: Path, target: Path, seconds: float, error: MakeError, cancelled: Callable[[], bool] | None = None
) -> AbstractContextManager[object]:
    """Lock a file, as every process does that changes it; what is returned lets go of it.

    Args:
        path: as people know it.
        target: the file itself, links followed: all who use it share its lock.
        cancelled: ends the wait.

    Raises:
        error: the lock cannot be had. ToolInterrupted: it was cancelled.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - takes a tenth of a second to load

    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A new object for each use: they exclude each other between threads as they do between processes.
        lock = FileLock(f"{target}.lock", mode=MODE, fallback_to_soft=False)
        return lock.acquire(timeout=seconds, poll_interval=_POLL, cancel_check=cancelled)
    except Timeout as problem:
        if cancelled is not None and cancelled():
            raise ToolInterrupted from problem
        raise error(
            f"{path} could not be locked within {seconds:g} s: another process holds {target}.lock. "
            "Try again, or end that process."
        ) from problem
    except OSError as problem:
        raise unusable(path, "locked", problem, error) from problem


def open_regular(path: Path, flags: int = 0) -> BinaryIO:
    """A file to be read, without waiting for the writer of a pipe in its place.

    Raises:
        OSError: it cannot be, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return os.fdopen(descriptor, "rb")


def replace_file(
    target: Path, data: bytes, *, durable: bool = True, hidden: bool = False, may: Callable[[], bool] = lambda: True
) -> bool:
    """Put `data` in the file's place, whole and for its owner alone. The lock is held.

    Args:
        durable: wait until the disk has the data.
        hidden: what is written first has a name that is not listed.
        may: asked just before; where it says no, nothing is changed, and False is returned.

    Raises:
        OSError: it could not be written; what was there still is.
    """
    # One fixed name, for the lock's holder alone: what a crash left behind is overwritten by the next.
    temporary = target.with_name(f"{'.' if hidden else ''}{target.name}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, MODE), "wb") as stream:
            set_mode(stream.fileno(), MODE)  # the umask may have taken from the mode
            stream.write(data)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        if not may():
            return False
        temporary.replace(target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return True


def unusable(path: Path, tried: str, problem: OSError, error: MakeError) -> Exception:
    """What is said of a file that could not be read, locked or written."""
    said = problem.strerror or type(problem).__name__
    return error(f"{path} could not be {tried}: {said}. Check that it is yours and may be written.")
