"""Files opened without following links and replaced whole, several at once all or none; and what an error means."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from tools.errors import FileAccessError, FileChanged, FileMissing, FileRefused, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import NOT_ON_WINDOWS, O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, set_mode

# Opens paths in which no symbolic link may be: what is touched is what was asked about.
# A path is resolved, somebody says yes to it, and only then it is opened. Between the two another process may put a
# link in the place of one of its directories. So each directory is opened within the one before (macOS does that at
# once: `O_NOFOLLOW_ANY`). What is to be changed is named by a directory that is held open, and a name in it: what
# becomes of the path meanwhile does not matter then.

_ANY_LINK = getattr(os, "O_NOFOLLOW_ANY", 0)
# A handle that only stands for a directory needs no right to list it.
_NAME_ONLY: int = getattr(os, "O_PATH", 0)
_HANDLE = O_DIRECTORY | O_CLOEXEC | (_NAME_ONLY or os.O_RDONLY)


@dataclass(frozen=True, slots=True)
class Spot:
    """A name in a directory that is held open.

    Attributes:
        path: what messages call it. Only its last part is used.
        folder: the directory's descriptor.
    """

    path: Path
    folder: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.name or "."

    def facts(self) -> os.stat_result | None:
        """As `lstat` tells them; None where nothing is.

        Raises:
            OSError: they cannot be told.
        """
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, flags: int, mode: int = 0o666) -> int:
        """A descriptor that children do not inherit; a symbolic link is not followed.

        Raises:
            OSError: with `ELOOP` where a link is.
        """
        return _open_at(self.folder, self.name, flags, mode)

    def beside(self, name: str) -> Spot:
        """Another name in the same directory."""
        return Spot(self.path.with_name(name), self.folder)

    def unlink(self) -> None:
        """Remove the name, if it is there.

        Raises:
            OSError: it cannot be removed.
        """
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.name, dir_fd=self.folder)


def open_resolved(path: Path, flags: int) -> int:
    """A descriptor of what is at `path`, that children do not inherit.

    Args:
        path: absolute, without `..`.
        flags: of `os.open`; nothing is created.

    Raises:
        OSError: with `ELOOP` where a part of the path is a symbolic link, with `EINVAL` where it is no such path.
    """
    text = str(path)
    if not path.is_absolute() or "\0" in text or ".." in path.parts:
        raise OSError(errno.EINVAL, "it is no absolute path without `..`", text)
    if sys.platform == "win32":
        raise OSError(errno.ENOSYS, NOT_ON_WINDOWS, text)
    return _opened(path, flags | O_CLOEXEC)


@contextmanager
def holding(path: Path, *, make: bool = False) -> Iterator[Spot]:
    """Hold the directory of `path` open.

    Args:
        make: make the directories that are missing.

    Raises:
        OSError: as in `open_resolved`.
    """
    folder = _folder(path.parent, make=make)
    try:
        yield Spot(path, folder)
    finally:
        os.close(folder)


def _opened(path: Path, flags: int) -> int:
    if _ANY_LINK:
        return os.open(path, flags | _ANY_LINK)
    *folders, last = path.parts[1:] or (".",)
    here = os.open("/", _HANDLE)
    try:
        for name in folders:
            above, here = here, _open_at(here, name, _HANDLE)
            os.close(above)
        descriptor = _open_at(here, last, flags)
    finally:
        os.close(here)
    # What only names a file names a link too.
    if flags & _NAME_ONLY and stat.S_ISLNK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _link_met(str(path))
    return descriptor


def _folder(path: Path, *, make: bool) -> int:
    try:
        return open_resolved(path, _HANDLE)
    except FileNotFoundError:
        if not make or path == path.parent:
            raise
    above = _folder(path.parent, make=True)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path.name, dir_fd=above)
        return _open_at(above, path.name, _HANDLE)
    finally:
        os.close(above)


def _open_at(folder: int, name: str, flags: int, mode: int = 0o666) -> int:
    try:
        return os.open(name, flags | O_NOFOLLOW | O_CLOEXEC, mode, dir_fd=folder)
    except NotADirectoryError as problem:
        # So the kernel calls a link where a directory is due.
        if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise
        raise _link_met(name) from problem


def _link_met(path: str) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


# Puts new content in a file's place, whole or not at all.
# The usual way writes a temporary file beside it and renames. Where that cannot work (a directory that may not be
# written, a file that is a mount point, an owner that could not be kept) the file is written in place, and its old
# content is put back should that fail.

_NOT_RENAMED_OVER = frozenset({errno.EXDEV, errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS})
_PERMISSION_BITS = 0o7777
_ACL = "system.posix_acl_access"
_KEPT_ATTRIBUTES = ("user.", _ACL, "security.selinux")


def create_at(spot: Spot, data: bytes) -> None:
    """Make a file where nothing is.

    Raises:
        FileChanged: something is there by now. OSError.
    """
    temporary = _write_temporary(spot, data, like=None)
    try:
        _move_to_free_path(temporary, spot)
    finally:
        temporary.unlink()


def replace_at(spot: Spot, data: bytes, previous: bytes, like: os.stat_result) -> None:
    """Put `data` in place of `previous`, keeping the mode and owner that `like` tells, and access lists if possible.

    Other hard links to the file keep the previous content: what shares it (package caches do) is not written to.

    Raises:
        FileAccessError: it failed half-way and the old content could not be put back. OSError: nothing changed.
    """
    try:
        temporary = _write_temporary(spot, data, like, is_there=True)
        try:
            os.replace(temporary.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
        finally:
            temporary.unlink()
    except OSError as problem:
        if problem.errno not in _NOT_RENAMED_OVER:
            raise
        overwrite(spot, data, previous)


def move_at(source: Spot, target: Spot) -> None:
    """Rename to where nothing is.

    Raises:
        FileChanged: something is at the target. OSError.
    """
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


def overwrite(spot: Spot, data: bytes, previous: bytes) -> None:
    """Write in place, or have `previous` there again where that fails."""
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


# Errors of the operating system about paths, as `FileAccessError`s that the model can act on.

_ADVICE = {
    errno.EACCES: "Its permissions do not allow that; ask the user.",
    errno.EPERM: "Its permissions do not allow that; ask the user.",
    errno.EROFS: "Choose a path on a file system that can be written.",
    errno.ENOSPC: "Free some space or ask the user.",
    errno.EDQUOT: "Free some space or ask the user.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EEXIST: "A part of the path is a file; check the path.",
    errno.ENOTDIR: "A part of the path is a file; check the path.",
    errno.EINVAL: "Name it in another way.",
    errno.EXDEV: "The two paths are on different file systems; write the new file, then remove the old one.",
}


@contextmanager
def told_as_file_error(trying: str, path: Path) -> Iterator[None]:
    """Turn an OSError of the block into the fitting `FileAccessError`.

    Args:
        trying: what the block does, as in "Could not read /a/b".
    """
    try:
        yield
    except OSError as problem:
        raise file_error(trying, path, problem) from problem


def file_error(trying: str, path: Path, problem: OSError) -> FileAccessError:
    """The error that says what was tried, what happened and what to do."""
    if isinstance(problem, FileNotFoundError):
        return FileMissing(f"Could not {trying} {path}: there is nothing at that path.")
    if problem.errno == errno.ELOOP:
        return FileRefused(
            f"Could not {trying} {path}: it has changed since it was looked at, as a part of it is a symbolic link "
            "now, or one that leads nowhere. Look at it again, and name the real path."
        )
    reason = problem.strerror or type(problem).__name__
    message = f"Could not {trying} {path}: {reason}."
    if advice := _ADVICE.get(problem.errno or 0):
        message += f" {advice}"
    if isinstance(problem, IsADirectoryError):
        return FileRefused(message)
    return FileAccessError(message)


# Changes several files, all or none: what was done is taken back when a later change fails.


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's content before and after; None where there is no file.

    Attributes:
        path: absolute; of a file that moves, where to.
        source: where a file that moves is now. Its content there is `before`, and nothing is at `path`.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    source: Path | None = None


class FileWriter(Protocol):
    """The part of a `FileSystem` that changes files."""

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`."""
        ...

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file whose content is `expected`."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is."""
        ...


@runtime_checkable
class ChangesTogether(Protocol):
    """A file system that asks for all changes before it makes the first."""

    def change_all(self, changes: Sequence[FileChange]) -> Sequence[bytes | None]:
        """Make all changes or none, in order.

        Returns:
            what each file holds now, as `FileSystem.write` tells it.

        Raises:
            ToolError: what failed; nothing is changed, unless it says so.
        """
        ...


def change_all(files: FileWriter, changes: Sequence[FileChange]) -> list[bytes | None]:
    """Make all changes, one after the other, and take them back when one fails.

    Returns:
        what each file holds now.

    Raises:
        ToolError: of the kind that the file system raised. Nothing is changed, unless the message names files that
            could not be put back.
        ToolInterrupted: the same, after a cancel.
    """
    done: list[_Done] = []
    holds: list[bytes | None] = []
    for change in changes:
        written: bytes | None = None
        for step in _steps(change):
            try:
                written = _make(files, step)
            except (ToolError, ToolInterrupted) as problem:
                _take_back(files, done, problem)
                raise
            done.append(_Done(step, written))
        holds.append(written)
    return holds


@dataclass(frozen=True, slots=True)
class _Done:
    """A change that was made, and what the file held then."""

    change: FileChange
    written: bytes | None


def _steps(change: FileChange) -> list[FileChange]:
    """A file that moves and changes does one after the other, so that it keeps its mode."""
    if change.source is None or change.after == change.before:
        return [change]
    return [replace(change, after=change.before), replace(change, source=None)]


def _make(files: FileWriter, change: FileChange) -> bytes | None:
    if change.source is not None:
        files.rename(change.source, change.path)
        return change.after
    if change.after is not None:
        return files.write(change.path, change.after, expected=change.before)
    if change.before is not None:
        files.remove(change.path, expected=change.before)
    return None


def _take_back(files: FileWriter, done: Sequence[_Done], problem: BaseException) -> None:
    """Undo what was done, the last first.

    Raises:
        FileAccessError: a file is no longer as it was left, or cannot be changed.
    """
    left: list[Path] = []
    for each in reversed(done):
        try:
            _undo(files, each.change, each.written)
        except (ToolError, ToolInterrupted):
            left.append(each.change.path)
    if left:
        names = ", ".join(map(str, dict.fromkeys(left)))
        raise FileAccessError(
            f"{str(problem) or 'The turn was cancelled.'} Changes made before that could not be taken back in "
            f"{names}: look at these files."
        ) from problem


def _undo(files: FileWriter, change: FileChange, written: bytes | None) -> None:
    if change.source is not None:
        files.rename(change.path, change.source)
    elif written is None:
        if change.before is not None:
            files.write(change.path, change.before, expected=None)
    elif change.before is None:
        files.remove(change.path, expected=written)
    elif written != change.before:
        files.write(change.path, change.before, expected=written)
