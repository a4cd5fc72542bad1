"""What is at a path now, told so that it can be compared with what was there earlier."""

from __future__ import annotations

import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Literal

from tools.environments.atomic_writes import Spot
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK

LINK_MODE = stat.S_IFLNK
"""The mode that stands for a symbolic link; its content is the text that it points to."""
UNKNOWN = "?"
"""Stands in a hash's place where what a change has left is not known."""

Kind = Literal["nothing", "file", "link", "directory", "blocked", "other"]
"""`blocked`: one of the path's directories is a file. `other`: a device, a pipe, or something that cannot be read."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file, or that there is none.

    Attributes:
        hash: SHA-256 of the content in hexadecimal digits; None where nothing is; `UNKNOWN`.
        mode: permission bits, or `LINK_MODE`; None where nothing is, or where it is not known.
    """

    hash: str | None
    mode: int | None = None

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == LINK_MODE

    def is_same(self, other: FileState) -> bool:
        """Same content and mode. A mode that is not known is like any, but for a link's."""
        if self.hash != other.hash or self.hash == UNKNOWN or self.is_link != other.is_link:
            return False
        return self.mode == other.mode or self.mode is None or other.mode is None


NOTHING = FileState(None)


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a path now.

    Attributes:
        size: of the content, in bytes.
        content: None where there is none, or where it is larger than was asked for.
        facts: of a file or link itself, not of what it points to.
        problem: for `other`, why it cannot be compared.
    """

    kind: Kind
    state: FileState = NOTHING
    size: int = 0
    content: bytes | None = None
    facts: os.stat_result | None = None
    problem: str = ""


def look(path: Path, max_bytes: int) -> Found:
    """What is at `path`; a link at its end is not followed.

    Args:
        max_bytes: content larger than that is hashed, and not kept in memory.
    """
    return _look(str(path), None, max_bytes)


def look_at(spot: Spot, max_bytes: int) -> Found:
    """As `look`, in a directory that is held open."""
    return _look(spot.name, spot.folder, max_bytes)


def _look(name: str, folder: int | None, max_bytes: int) -> Found:
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=folder))
            return Found("link", FileState(sha256(target), LINK_MODE), len(target), target, facts)
        if stat.S_ISDIR(facts.st_mode):
            return Found("directory", facts=facts)
        if not stat.S_ISREG(facts.st_mode):
            return Found("other", facts=facts, problem="it is a device, a pipe or a socket")
        return _look_into(name, folder, max_bytes)
    except FileNotFoundError:
        return Found("nothing")
    except NotADirectoryError:
        return Found("blocked")
    except OSError as problem:
        return Found("other", problem=f"it cannot be read: {problem.strerror or problem}")


def sha256(content: bytes) -> str:
    """The hash that contents are compared by."""
    return hashlib.sha256(content).hexdigest()


def kept_mode(mode: int | None) -> int | None:
    """The mode as it is kept, from a mode with or without the bits that tell a file's type."""
    if mode is None:
        return None
    return LINK_MODE if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def _look_into(name: str, folder: int | None, max_bytes: int) -> Found:
    # O_NONBLOCK: what was a file a moment ago may be a pipe by now.
    descriptor = os.open(name, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return Found("other", facts=facts, problem="it changes while it is looked at")
        mode = stat.S_IMODE(facts.st_mode)
        if facts.st_size > max_bytes:
            return Found("file", FileState(_hash_of(stream), mode), facts.st_size, None, facts)
        content = stream.read()
    return Found("file", FileState(sha256(content), mode), len(content), content, facts)


def _hash_of(stream: BufferedReader) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()
