"""Reads one rules file: bounded, following no link that could be put there meanwhile, never waiting for a pipe."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from tools.environments.atomic_writes import open_resolved
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOCTTY, O_NONBLOCK
from tools.text.encoding import decode, with_escapes

MOST_BYTES = 1024 * 1024
_FLAGS = os.O_RDONLY | O_NONBLOCK | O_NOCTTY


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text with line feeds at line ends, and where it really is; never blank."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """There is a file, and it is not used. `why` completes «is not used: »."""

    why: str


@dataclass(frozen=True, slots=True)
class Region:
    """What may be read.

    Attributes:
        roots: resolved directories, in which a file must really be.
        refusal: why a resolved path must not be read all the same; '' if it may.
    """

    roots: tuple[Path, ...]
    refusal: Callable[[Path], str] = lambda _: ""

    def holds(self, path: Path) -> bool:
        """Whether a resolved path is in it."""
        return any(path.is_relative_to(root) for root in self.roots)


def read_text(path: Path, region: Region | None = None) -> FileText | Unreadable | None:
    """The text of a file; None where there is no file, or nothing in it. Blocks for one small file.

    Args:
        region: where the file must really be; None: anywhere.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
    except (OSError, ValueError):
        return None
    if region is not None:
        if not region.holds(real):
            return Unreadable(f"it is outside of the session's directories, at {real}")
        if why := region.refusal(real):
            return Unreadable(f"it {why}")
    try:
        data = _bytes(real)
    except OSError as problem:
        return Unreadable(f"it cannot be read ({problem.strerror})")
    if data is None:
        return None
    if len(data) > MOST_BYTES:
        return Unreadable(f"it has more than {MOST_BYTES // 1024:,} KiB")
    file = decode(data)
    if file is None:
        return Unreadable("it is no text")
    text = with_escapes(file.text).replace("\r\n", "\n")
    return FileText(real, text) if text.strip() else None


def _bytes(real: Path) -> bytes | None:
    """The beginning of a regular file; None for a directory.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    descriptor = open_resolved(real, _FLAGS)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            return None
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is a device, pipe or socket", str(real))
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
