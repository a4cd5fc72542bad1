"""Removes a directory that programs have filled, whatever they have put into it."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from tools.os_compat import O_DIRECTORY, O_NOFOLLOW

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
