"""Puts new content in a file's place, whole or not at all.

The usual way writes a temporary file beside it and renames. Where that cannot work (a directory that may not be
written, a file that is a mount point, an owner that could not be kept) the file is written in place, and its old
content is put back should that fail.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sys
from pathlib import Path

from tools.environments.resolved_open import Spot, holding
from tools.errors import FileAccessError, FileChanged
from tools.os_compat import O_NONBLOCK, set_mode

_NOT_RENAMED_OVER = frozenset({errno.EXDEV, errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS})
_PERMISSION_BITS = 0o7777
_ACL = "system.posix_acl_access"
_KEPT_ATTRIBUTES = ("user.", _ACL, "security.selinux")


def create_file(path: Path, data: bytes) -> None:
    """Make a file where nothing is; parents are created.

    Args:
        path: with no symbolic link in it, as for all functions here.

    Raises:
        FileChanged: something is there by now. OSError.
    """
    with holding(path, make=True) as spot:
        create_at(spot, data)


def create_at(spot: Spot, data: bytes) -> None:
    """As `create_file`, in a directory that is held open."""
    temporary = _write_temporary(spot, data, like=None)
    try:
        _move_to_free_path(temporary, spot)
    finally:
        temporary.unlink()


def replace_file(path: Path, data: bytes, previous: bytes, like: os.stat_result) -> None:
    """Put `data` in place of `previous`, keeping the mode and owner that `like` tells, and access lists if possible.

    Other hard links to the file keep the previous content: what shares it (package caches do) is not written to.

    Raises:
        FileAccessError: it failed half-way and the old content could not be put back. OSError: nothing changed.
    """
    with holding(path) as spot:
        replace_at(spot, data, previous, like)


def replace_at(spot: Spot, data: bytes, previous: bytes, like: os.stat_result) -> None:
    """As `replace_file`, in a directory that is held open."""
    try:
        temporary = _write_temporary(spot, data, like, is_there=True)
        try:
            os.replace(temporary.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
        finally:
            temporary.unlink()
    except OSError as problem:
        if problem.errno not in _NOT_RENAMED_OVER:
            raise
        _overwrite(spot, data, previous)


def move_file(source: Path, target: Path) -> None:
    """Rename to a path where nothing is; the target's parents are created.

    Raises:
        FileChanged: something is at the target. OSError.
    """
    with holding(source) as here, holding(target, make=True) as there:
        move_at(here, there)


def move_at(source: Spot, target: Spot) -> None:
    """As `move_file`, between directories that are held open."""
    _move_to_free_path(source, target)
    # After a link the source is still there; a kill in between leaves two names, never none.
    source.unlink()


def _write_temporary(spot: Spot, data: bytes, like: os.stat_result | None, *, is_there: bool = False) -> Spot:
    temporary = spot.beside(f".hermes-{secrets.token_hex(6)}.tmp")
    # The kernel applies the umask to a new file; an existing one's mode and owner are copied.
    mode = 0o666 if like is None else like.st_mode & 0o777
    descriptor = temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()  # the kernel takes the set-user bit from a file that is written to
            if like is not None:
                _copy_owner_and_mode(descriptor, like)
            if is_there:
                _copy_attributes(descriptor, spot)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _copy_owner_and_mode(descriptor: int, like: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        os.fchown(descriptor, like.st_uid, like.st_gid)
    set_mode(descriptor, like.st_mode & _PERMISSION_BITS)


def _copy_attributes(descriptor: int, replaced: Spot) -> None:
    """Give the new file the access list, labels and users' attributes of the old one, as far as that may be done."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):
        old = replaced.open(os.O_RDONLY | O_NONBLOCK)
        try:
            _copy_listed(descriptor, old)
        finally:
            os.close(old)


def _copy_listed(descriptor: int, old: int) -> None:
    names = os.listxattr(old)
    for name in (name for name in names if name.startswith(_KEPT_ATTRIBUTES)):
        with contextlib.suppress(OSError):
            os.setxattr(descriptor, name, os.getxattr(old, name))
    # A directory's default list is given to each new file in it.
    if _ACL not in names and _ACL in os.listxattr(descriptor):
        os.removexattr(descriptor, _ACL)


def _move_to_free_path(source: Spot, target: Spot) -> None:
    try:
        # A hard link, unlike a rename, never replaces what appeared at the target meanwhile.
        os.link(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder, follow_symlinks=False)
    except FileExistsError as problem:
        raise _taken(target.path) from problem
    except OSError as problem:
        if problem.errno in {errno.ENOENT, errno.EXDEV, errno.EACCES}:
            raise
        # Directories and some file systems know no hard links.
        if target.facts() is not None:
            raise _taken(target.path) from problem
        os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def _taken(target: Path) -> FileChanged:
    return FileChanged(f"There is already something at {target}; nothing was changed. Look at it first.")


def _overwrite(spot: Spot, data: bytes, previous: bytes) -> None:
    descriptor = spot.open(os.O_WRONLY | O_NONBLOCK)
    try:
        _put(descriptor, data)
    except OSError as problem:
        try:
            _put(descriptor, previous)
        except OSError as second:
            raise FileAccessError(
                f"Writing {spot.path} failed half-way ({problem.strerror}) and its old content could not be put back "
                f"({second.strerror}). The file is damaged: tell the user at once."
            ) from second
        raise
    finally:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _put(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    # Cut last: until then the file is never shorter than it was.
    os.ftruncate(descriptor, len(data))
