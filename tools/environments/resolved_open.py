"""Opens paths in which no symbolic link may be: what is touched is what was asked about.

A path is resolved, somebody says yes to it, and only then it is opened. Between the two another process may put a
link in the place of one of its directories. So the kernel is told to follow none (`openat2`, Linux 5.6;
`O_NOFOLLOW_ANY`, macOS), or else the path is opened directory by directory. What is to be changed is named by a
directory that is held open, and a name in it: what becomes of the path meanwhile does not matter then.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.os_compat import NOT_ON_WINDOWS, O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW

_ANY_LINK = getattr(os, "O_NOFOLLOW_ANY", 0)
# A handle that only stands for a directory needs no right to list it.
_HANDLE = O_DIRECTORY | O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04

_Opener = Callable[[Path, int], int]


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
    return opener()(path, flags | O_CLOEXEC)


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


@functools.cache
def opener() -> _Opener:
    """What opens paths here, found out by use."""
    if _ANY_LINK:
        return _open_as_whole
    by_kernel = _kernels() if sys.platform == "linux" else None
    return by_kernel or open_by_steps


def open_by_steps(path: Path, flags: int) -> int:
    """Open each directory of the path within the one before: for systems that cannot do it at once.

    Raises:
        OSError: as in `open_resolved`.
    """
    *folders, last = path.parts[1:] or (".",)
    here = os.open("/", _HANDLE)
    try:
        for name in folders:
            above, here = here, _open_at(here, name, _HANDLE)
            os.close(above)
        return _open_at(here, last, flags)
    finally:
        os.close(here)


def _open_as_whole(path: Path, flags: int) -> int:
    return os.open(path, flags | _ANY_LINK)


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


def _kernels() -> _Opener | None:
    """`openat2` of the kernel; None where it has none, or where a container forbids it."""
    import ctypes  # noqa: PLC0415 - not before the first file is opened

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(How), ctypes.c_size_t)
    resolve = _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    size = ctypes.sizeof(How)

    def open_at_once(path: Path, flags: int) -> int:
        how = How(flags, 0, resolve)
        while True:
            descriptor = int(syscall(_SYS_OPENAT2, -1, os.fsencode(path), how, size))
            if descriptor >= 0:
                return descriptor
            if (number := ctypes.get_errno()) != errno.EINTR:
                raise OSError(number, os.strerror(number), str(path))

    try:
        os.close(open_at_once(Path("/"), _HANDLE))
    except OSError:
        return None
    return open_at_once
