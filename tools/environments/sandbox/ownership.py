"""Judges what Landlock does not see: changes of the mode and the owner of files, by the files that they would change.

The calls come from the kernel while the program waits. A file is opened by what the program named, looked at, and
changed through that very handle: what the program does to the name meanwhile changes nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tools.environments.sandbox import kernel
from tools.environments.sandbox.call_numbers import names_of
from tools.environments.sandbox_network.kernel import as_int
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.environments.sandbox_network.port import Notice

OWNERSHIP_CALLS = frozenset({"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat"})
"""The calls that are judged here."""

_HERE = -100
_NO_FOLLOW, _EMPTY_PATH = 0x100, 0x1000
_MOST_PATH = 4096
_OWN_VIEW = "/proc/self/"
_OWN_FILES = "/dev/fd/"


@dataclass(frozen=True, slots=True)
class _Form:
    """Which arguments of a call are what; None where it has none of the kind."""

    directory: int | None = None
    path: int | None = None
    values: int = 0
    flags: int | None = None
    always_flags: int = 0


_FORMS: Mapping[str, _Form] = {
    "chmod": _Form(path=0, values=1),
    "fchmod": _Form(directory=0, values=1),
    "fchmodat": _Form(directory=0, path=1, values=2),
    "fchmodat2": _Form(directory=0, path=1, values=2, flags=3),
    "chown": _Form(path=0, values=1),
    "lchown": _Form(path=0, values=1, always_flags=_NO_FOLLOW),
    "fchown": _Form(directory=0, values=1),
    "fchownat": _Form(directory=0, path=1, values=2, flags=4),
}


class OwnershipJudge:
    """Makes the changes for the program where they are below what it may change; call it with each notice.

    Args:
        writable: files and directories that the program may change; resolved.
        hidden: what it may not even name; resolved.
    """

    def __init__(self, writable: Iterable[Path], hidden: Iterable[Path]) -> None:
        self._writable = tuple(writable)
        self._hidden = tuple(hidden)
        self._user = os.geteuid()

    def __call__(self, notice: Notice) -> int:
        """Make the change or refuse it.

        Returns:
            the errno with which the program's call ends, 0 for none.
        """
        name = names_of(OWNERSHIP_CALLS, kernel.machine()).get(notice.nr)
        if name is None:
            return errno.EACCES
        try:
            return self._judge(notice, name, _FORMS[name])
        except OSError as problem:
            return problem.errno or errno.EACCES

    def _judge(self, notice: Notice, name: str, form: _Form) -> int:
        if self._acting_user(notice.pid) != self._user:
            return errno.EPERM  # we would do it with rights that the program has given up
        handle = _opened(notice, form)
        try:
            if not notice.valid():
                return errno.EINTR
            if not self._may_change(handle):
                return errno.EPERM
            if name.startswith(("chown", "lchown", "fchown")):
                kernel.change_owner(handle, notice.args[form.values], notice.args[form.values + 1])
            elif stat.S_ISLNK(os.fstat(handle).st_mode):
                return errno.EOPNOTSUPP
            else:
                Path(f"/proc/self/fd/{handle}").chmod(notice.args[form.values] & 0o1777)
        finally:
            os.close(handle)
        return 0

    def _acting_user(self, thread: int) -> int:
        """Whose files a thread may change. A user without rights becomes nobody else: the quick way will do."""
        if self._user != 0:
            return os.stat(f"/proc/{thread}").st_uid  # noqa: PTH116 - often, so quick
        return int(_fact(thread, "Uid:")[3])

    def _may_change(self, handle: int) -> bool:
        where = Path(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115 - what it shows is no link to follow
        if not where.is_absolute():
            return True  # a pipe, a socket: the program's own
        if any(where.is_relative_to(each) for each in self._hidden):
            return False
        return any(where.is_relative_to(each) for each in self._writable) and _is_at(where, os.fstat(handle))


def _is_at(where: Path, found: os.stat_result) -> bool:
    """Whether that is where we see it: what another process has mounted elsewhere may have the same path there."""
    if found.st_nlink == 0:
        return where.parent.stat().st_dev == found.st_dev
    return os.path.samestat(where.lstat(), found)


def _opened(notice: Notice, form: _Form) -> int:
    """A handle of what the call means; the caller closes it.

    Raises:
        OSError: as the program would get it.
    """
    directory = _HERE if form.directory is None else as_int(notice.args[form.directory])
    flags = form.always_flags | (notice.args[form.flags] if form.flags is not None else 0)
    if flags & ~(_NO_FOLLOW | _EMPTY_PATH) & 0xFFFFFFFF:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    path = b"" if form.path is None else _text_at(notice, notice.args[form.path])
    base = f"/proc/{notice.pid}/cwd" if directory == _HERE else f"/proc/{notice.pid}/fd/{directory}"
    if not path:
        if form.path is not None and not flags & _EMPTY_PATH:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return _base(base)
    how = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if flags & _NO_FOLLOW else 0)
    named = os.fsdecode(path)
    if named.startswith("/"):
        return os.open(_as_seen_by(notice.pid, named), how)
    start = _base(base)
    try:
        return os.open(named, how, dir_fd=start)
    finally:
        os.close(start)


def _base(place: str) -> int:
    try:
        return os.open(place, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None


def _as_seen_by(thread: int, path: str) -> str:
    """A path that names «this process» as another process means it."""
    if not path.startswith((_OWN_VIEW, _OWN_FILES)):
        return path
    process = _fact(thread, "Tgid:")[0]
    if path.startswith(_OWN_VIEW):
        return f"/proc/{process}/{path.removeprefix(_OWN_VIEW)}"
    return f"/proc/{process}/fd/{path.removeprefix(_OWN_FILES)}"


def _text_at(notice: Notice, address: int) -> bytes:
    text, ended, _ = notice.memory(address, _MOST_PATH).partition(b"\0")
    if not ended:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    return text


def _fact(thread: int, name: str) -> list[str]:
    """What the kernel tells of a thread under that name.

    Raises:
        OSError: it is gone.
    """
    with open(f"/proc/{thread}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 - often, so quick
        for line in status:
            if line.startswith(name):
                return line.split()[1:]
    raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
