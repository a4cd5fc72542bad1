"""What differs between operating systems: flags and signals by one name, file locks, and how paths are written."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

# Flags of `os.open` by one name on every system, and what else of `os` one system has and another has not. Windows
# lacks most of these flags, and needs two that others lack: without `O_BINARY` line ends are rewritten, without
# `O_NOINHERIT` children get the file.

O_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0) or getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_BINARY", 0)
O_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
O_NOCTTY: int = getattr(os, "O_NOCTTY", 0)
O_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
O_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
NOT_ON_WINDOWS = (
    "on Windows itself, files are not opened and commands not run yet: what keeps links and children in bounds is "
    "not there. Start hermes-acp inside WSL, as docs/install.md says; an editor on Windows can use it there"
)
SIGKILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)


def own_user() -> int:
    """Our user's number, as `stat` has it: 0 where there are none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def set_mode(descriptor: int, mode: int) -> None:
    """Set an open file's permissions, where the system has such."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def set_owner_like(descriptor: int, path: Path) -> None:
    """Give an open file the owner and group of the file or directory at `path`, as far as we may: `sudo` may."""
    if not hasattr(os, "fchown"):
        return
    wanted, now = path.stat(), os.fstat(descriptor)
    if (wanted.st_uid, wanted.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Have the names in a directory on the disk; Windows does that by itself and opens no directory.

    Raises:
        OSError: it could not be done.
    """
    if not O_DIRECTORY:
        return
    descriptor = os.open(path, os.O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Locks of files against other processes: held as long as the descriptor is open.

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


# Paths as people and models write them.


def absolute(path: str, base: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> str:
    """The path that is meant: `~` and `~/x` are in the home, relative ones in `base`; `~name` is a file called so.

    A `..` takes back a name, and not what a link of that name leads to.

    Args:
        home: None for the one of this machine's user.
    """
    if path == "~" or path.startswith("~/"):
        path = os.path.join(os.path.expanduser("~") if home is None else home, path[2:])  # noqa: PTH111, PTH118
    return os.path.normpath(os.path.join(base, path))  # noqa: PTH118 - text, also of another machine


def one_slash(path: str) -> str:
    """The path without the second slash at its beginning. POSIX lets `//x` be another place; on no system it is."""
    return path[1:] if os.sep == "/" and path[:2] == "//" and path[2:3] != "/" else path


def same_directory(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two spellings name one directory of this machine. Blocks for the disk.

    They may differ by symbolic links, slashes and dots; by case and the composition of letters where the file system
    does not tell these apart. What is not there is compared as text.
    """
    try:
        mine, theirs = (one_slash(os.path.realpath(path)) for path in (one, other))
        if mine == theirs or _folded(mine) != _folded(theirs):
            return mine == theirs
        return os.path.samestat(os.stat(mine), os.stat(theirs))  # noqa: PTH116 - text
    except (OSError, ValueError):  # it is not there, or can be no path
        return False


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
