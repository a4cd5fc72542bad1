"""Flags of `os.open` by one name on every system, and what else of `os` one system has and another has not.

Windows has no such flags as most of these, and needs two that others have not: without `O_BINARY` line ends are
rewritten, without `O_NOINHERIT` children get the file.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

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
