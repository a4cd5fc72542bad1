"""The disk as a command's words are looked up in it: only reading, and never for long."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

_UNREAL = ("/proc/", "/sys/", "/dev/")
_MAX_PATH_CHARS = 4096
_ENTRIES_PER_LOOK_AT_THE_CLOCK = 64
_CLOCK_TO_PROCESSOR = 8


class DiskView:
    """Looks at paths until its time or its number of entries is used up; then everything seems to be empty.

    Args:
        max_seconds: how much of the processor it may use. The time by the clock is bounded more loosely: on a busy
            machine a short look must not come to nothing.
        max_entries: how many directory entries it reads in all.
    """

    def __init__(self, max_seconds: float, max_entries: int = 20_000) -> None:
        self._max_used = time.thread_time() + max_seconds
        self._deadline = time.monotonic() + max_seconds * _CLOCK_TO_PROCESSOR
        self._left = max_entries

    def is_spent(self) -> bool:
        """True once it does not look any more."""
        return self._left <= 0 or time.monotonic() > self._deadline or time.thread_time() > self._max_used

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """What is in a directory, in no order; nothing where it cannot be read."""
        if self.is_spent():
            return
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    self._left -= 1
                    if self._left % _ENTRIES_PER_LOOK_AT_THE_CLOCK == 0 and self.is_spent():
                        return
                    yield entry
        except (OSError, ValueError):
            return

    def is_directory(self, path: str) -> bool:
        """True for a directory, also through a symbolic link."""
        try:
            return not self.is_spent() and Path(path).is_dir()
        except (OSError, ValueError):
            return False

    def is_link(self, path: str) -> bool:
        """True for a symbolic link."""
        try:
            return not self.is_spent() and Path(path).is_symlink()
        except (OSError, ValueError):
            return False

    def exists(self, path: str) -> bool:
        """True for anything, dangling symbolic links too."""
        try:
            return not self.is_spent() and os.path.lexists(path)
        except (OSError, ValueError):
            return False

    def files_below(self, folder: str) -> Iterator[str]:
        """Files and links in a directory and below, nearest first; symbolic links are not followed."""
        folders = deque([folder])
        while folders:
            for entry in self.entries(folders.popleft()):
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        yield entry.path
                except OSError:
                    continue


def reached(path: str, *, follows: bool) -> Path | None:
    """Where a command that uses `path` gets to: with the last symbolic link followed, or only those before it.

    None for what is no real file: devices, what the kernel makes up, names that no file can have.
    """
    if len(path) > _MAX_PATH_CHARS or "\0" in path:
        return None
    try:
        path = path.rstrip("/") or "/"
        folder, name = os.path.split(path)
        last_is_special = name in {"", ".", ".."}
        real = os.path.realpath(path) if follows or last_is_special else os.path.join(os.path.realpath(folder), name)  # noqa: PTH118 - a name that is no Path yet
        return None if f"{real}/".startswith(_UNREAL) else Path(real)
    except (OSError, ValueError):
        return None
