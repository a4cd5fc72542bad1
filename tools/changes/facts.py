"""Facts and contents of files, and the records of what has changed."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path
from typing import NamedTuple

from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK

# Files as they are: the facts that tell one state from another, and the content.

# Clocks of file systems tick in steps of some milliseconds. Within one, a file can change twice and look the same.
CLOCK_STEP_NS = 20_000_000


class Facts(NamedTuple):
    """What tells one state of a file from another without reading it; times in nanoseconds since the epoch.

    A tuple, because ten thousand are made for a look.
    """

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int
    st_mode: int

    @property
    def mode(self) -> int:
        """The permission bits; with `stat.S_IFLNK` for a symbolic link."""
        link = stat.S_IFLNK if stat.S_ISLNK(self.st_mode) else 0
        return link | stat.S_IMODE(self.st_mode)

    @property
    def is_file(self) -> bool:
        """True for regular files and symbolic links: what has a content to put back."""
        return stat.S_ISREG(self.st_mode) or stat.S_ISLNK(self.st_mode)


def facts_of(found: os.stat_result) -> Facts:
    """The facts in a result of `lstat`."""
    return Facts(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


def look(path: str) -> Facts | None:
    """The facts of what is at `path` now; None where nothing is or can be seen."""
    try:
        return facts_of(os.lstat(path))
    except (OSError, ValueError):
        return None


def read_content(path: str, facts: Facts, max_bytes: int) -> bytes | None:
    """The content of a file, or where a link points to; None where it is larger than `max_bytes`.

    Raises:
        OSError: it cannot be read.
    """
    if stat.S_ISLNK(facts.st_mode):
        return os.fsencode(os.readlink(path))  # noqa: PTH115 - the names are strings of os.scandir
    # What has become a pipe meanwhile must not make us wait.
    descriptor = os.open(path, os.O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    try:
        wanted = min(facts.size, max_bytes) + 1
        content = os.read(descriptor, wanted)
        if len(content) in {facts.size, wanted}:
            return content if len(content) <= max_bytes else None
        pieces = [content]
        # Some other size than it had a moment ago, or a file system that reads in pieces.
        while content and sum(map(len, pieces)) <= max_bytes:
            content = os.read(descriptor, 1 << 20)
            pieces.append(content)
    finally:
        os.close(descriptor)
    whole = b"".join(pieces)
    return whole if len(whole) <= max_bytes else None


# Contents that are held in memory from one command to the next.


class ContentCache:
    """Contents of files by path and facts, for one session; safe to use from several threads.

    Args:
        max_bytes: what is held at most; the oldest goes first.
    """

    def __init__(self, max_bytes: int = 16 << 20) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Facts, bytes]] = {}
        self._bytes = 0

    @property
    def size(self) -> int:
        """How many bytes are held."""
        return self._bytes

    def get(self, path: str, facts: Facts) -> bytes | None:
        """The content of `path` in the state that `facts` tell, if that is held."""
        held = self._held.get(path)
        return held[1] if held is not None and held[0] == facts else None

    def put(self, path: str, facts: Facts, content: bytes) -> None:
        """Hold what was read after `facts` were taken.

        A file that has only just changed is not held: it may change once more and look the same.
        """
        if facts.ctime_ns > time.time_ns() - CLOCK_STEP_NS or len(content) > self._max_bytes:
            return
        with self._lock:
            self._drop(path)
            while self._bytes + len(content) > self._max_bytes:
                self._drop(next(iter(self._held)))
            self._held[path] = (facts, content)
            self._bytes += len(content)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _drop(self, path: str) -> None:
        held = self._held.pop(path, None)
        if held is not None:
            self._bytes -= len(held[1])


# What an observation of a command tells, and its bounds.

# Stands for the content of what is there and was not read: too large, unreadable, a directory.
UNKNOWN_HASH = "?"


@dataclass(frozen=True, slots=True)
class ObservationLimits:
    """Bounds of one observation; bytes and seconds.

    Attributes:
        max_file_bytes: of one foreseen file, `max_foreseen_bytes` of them all; `max_foreseen` is how many of them the
            command's text may name, `max_copy_seconds` how long they may be copied.
        max_files: how many files of the roots are looked at; `max_seconds`: how long the look before may take.
        max_held_file: the largest file that is held though nothing foresees its change; `max_held_bytes` for all.
        max_after_bytes: how much is read after the command to tell what changed.
    """

    max_file_bytes: int = 50_000_000
    max_foreseen_bytes: int = 200_000_000
    max_foreseen: int = 1_000
    max_copy_seconds: float = 3.0
    max_files: int = 10_000
    max_seconds: float = 0.15
    max_held_file: int = 256 << 10
    max_held_bytes: int = 16 << 20
    max_after_bytes: int = 256 << 20

    @property
    def too_slow(self) -> str:
        """Why a content was not kept for which there was no time left."""
        return f"copying what the command would take needed more than {self.max_copy_seconds:g} seconds"


@dataclass(frozen=True, slots=True)
class FileBefore:
    """A file as it was before the command.

    Attributes:
        path: absolute; the directory's symbolic links are resolved, the last name is what was looked at itself.
        content: None where nothing was there (then `mode` is None and `lost` empty), or where it was not kept. A
            symbolic link's content is where it points to.
        mode: the permission bits; with `stat.S_IFLNK` for a symbolic link. None: nothing was there, or not known.
        lost: why the content was not kept.
    """

    path: Path
    content: bytes | None
    mode: int | None
    lost: str = ""


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A file that is not any more what it was.

    Attributes:
        after_hash: SHA-256 of the content now, in hex; None where nothing is there now; `UNKNOWN_HASH` for what is
            there and was not read.
        after_mode: as `FileBefore.mode`.
    """

    path: Path
    before: FileBefore
    after_hash: str | None
    after_mode: int | None


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """A directory that has come, gone, or has other permissions.

    Attributes:
        before, after: its permission bits; None where it was not there, or is not there or not looked into any more.
    """

    path: Path
    before: int | None
    after: int | None
