"""Temporary directories of this process: what one that was killed has left is removed when the next is made."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.environments.removing import remove_tree
from tools.os_compat import lock, open_to_lock, own_user


class OwnDirectory:
    """A directory for this user alone, empty at first.

    It is locked while it is in use: a lock ends with its process, however that ends, and unlike a process's number it
    is understood in every container that shares the directory for temporary files.

    Attributes:
        path: resolved.
    """

    def __init__(self, prefix: str, within: str | None = None) -> None:
        """Make it, and remove what is left of others with this prefix.

        Args:
            within: the directory for it; None for the one for temporary files.

        Raises:
            OSError: it cannot be made.
        """
        _remove_left(prefix, within)
        self.path, self._descriptor = _made(prefix, within)

    def close(self) -> None:
        """Remove it with all that is in it."""
        remove_tree(self.path)
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


@contextlib.contextmanager
def own_directory(prefix: str) -> Iterator[Path]:
    """The path of an `OwnDirectory`, which is removed at the end of the block.

    Raises:
        OSError: it cannot be made.
    """
    made = OwnDirectory(prefix)
    try:
        yield made.path
    finally:
        made.close()


def _made(prefix: str, within: str | None) -> tuple[Path, int | None]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=within)).resolve()
        descriptor = _locked(path, waits=True)
        if path.is_dir():
            return path, descriptor
        # Another process took it for one that was left, in the moment before it was locked.
        if descriptor is not None:
            os.close(descriptor)


def _locked(path: Path, *, waits: bool) -> int | None:
    """A descriptor that holds the lock; None where somebody else does, or nobody can."""
    try:
        descriptor = open_to_lock(path)
    except OSError:
        return None
    try:
        lock(descriptor, waits=waits)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_left(prefix: str, within: str | None) -> None:
    for path in _of_this_user(prefix, within):
        descriptor = _locked(path, waits=False)
        if descriptor is None:
            continue
        try:
            remove_tree(path)
        finally:
            os.close(descriptor)


def _of_this_user(prefix: str, within: str | None) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for path in Path(within or tempfile.gettempdir()).glob(f"{prefix}*"):
            with contextlib.suppress(OSError):
                facts = path.lstat()
                if stat.S_ISDIR(facts.st_mode) and facts.st_uid == own_user():
                    yield path
