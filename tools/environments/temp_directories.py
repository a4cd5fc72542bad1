"""Temporary directories of this process: what one that was killed has left is removed when the next is made."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools.os_compat import O_DIRECTORY, O_NOFOLLOW, lock, open_to_lock, own_user

# Removal of a directory that programs have filled, whatever they have put into it.

_O_PATH: int = getattr(os, "O_PATH", 0)
_OPEN = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW


def remove_tree(place: Path) -> None:
    """Remove it with all that is in it, as far as that can be done. Never raises, follows no link.

    However deep it is: what lies below a directory is moved up before the directory is removed.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(place.lstat().st_mode):
            place.unlink()
            return
        root = _opened(place)
        try:
            _make_writable(root)
            _empty(root)
        finally:
            os.close(root)
        place.rmdir()


def _empty(root: int) -> None:
    # What cannot be removed is not tried again.
    left: set[str] = set()
    while found := [name for name in os.listdir(root) if name not in left]:
        for name in found:
            try:
                _remove(root, name)
            except OSError:
                left.add(name)


def _opened(name: str | Path, directory: int | None = None) -> int:
    try:
        return os.open(name, _OPEN, dir_fd=directory)
    except PermissionError:
        if not _O_PATH:
            raise
    # It may not be read either: a descriptor that only names it is enough to change that.
    named = os.open(name, _O_PATH | O_DIRECTORY | O_NOFOLLOW, dir_fd=directory)
    try:
        Path(f"/proc/self/fd/{named}").chmod(stat.S_IRWXU)
    finally:
        os.close(named)
    return os.open(name, _OPEN, dir_fd=directory)


def _make_writable(directory: int) -> None:
    """Some programs take that right away from what they keep, as Go does."""
    if stat.S_IRWXU & ~os.fstat(directory).st_mode:
        with contextlib.suppress(OSError):
            os.fchmod(directory, stat.S_IRWXU)


def _make_writable_below(directory: int, name: str) -> None:
    with contextlib.suppress(OSError):
        below = _opened(name, directory)
        try:
            _make_writable(below)
        finally:
            os.close(below)


def _remove(root: int, name: str) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=root)
        return
    inner = _opened(name, root)
    try:
        _make_writable(inner)
        for below in os.listdir(inner):  # noqa: PTH208 - of a descriptor
            if stat.S_ISDIR(os.stat(below, dir_fd=inner, follow_symlinks=False).st_mode):
                # Its new place is written into it.
                _make_writable_below(inner, below)
                os.rename(below, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=root)
            else:
                os.unlink(below, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=root)


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
