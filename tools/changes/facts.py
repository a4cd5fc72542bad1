"""Files as they are: the facts that tell one state from another, and the content."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from tools.os_compat import O_CLOEXEC, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK

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
