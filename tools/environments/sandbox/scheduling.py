"""Judges calls that schedule or limit processes by their number: a command may do so to its session's own only.

The kernel lets every process of a user do it to all others of the user, and Landlock does not see it. What a thread
does to itself passes the filter of calls; here comes what names a process.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from tools.environments.sandbox import kernel
from tools.environments.sandbox.call_filter import OF_ONE_PROCESS, OF_SOME_PROCESSES, SCHEDULING_CALLS
from tools.environments.sandbox.call_numbers import names_of
from tools.environments.sandbox_network.kernel import as_int

if TYPE_CHECKING:
    from tools.environments.sandbox_network.port import Notice


class SchedulingJudge:
    """Says whether a call may go on; call it with each notice.

    All that is judged stands in registers, which do not change while the call waits. A number could come to stand for
    another process between our look and the kernel's, if the first ended in those microseconds and the kernel's count
    of processes were just there.

    Args:
        holds: whether all of these processes or threads are the session's.
    """

    def __init__(self, holds: Callable[[Collection[int]], bool]) -> None:
        self._holds = holds

    def __call__(self, notice: Notice) -> int | None:
        """Let the kernel go on with the call (None), or refuse it.

        Returns:
            None, or the errno with which the program's call ends.
        """
        name = names_of(SCHEDULING_CALLS, kernel.machine()).get(notice.nr)
        if name is None:
            return errno.EACCES
        try:
            meant = _meant(name, notice)
        except OSError as problem:
            return problem.errno or errno.EACCES
        is_own = all(_is_of_same_process(each, notice.pid) for each in meant)
        if not is_own and not self._holds(meant):
            return errno.EPERM
        return None if notice.valid() else errno.EINTR


def _meant(name: str, notice: Notice) -> Collection[int]:
    """The processes or threads that the call would change.

    Raises:
        OSError: as the program would get it: there is none, or it is a user's processes, or none of the three.
    """
    if name in OF_ONE_PROCESS:
        found: Collection[int] = _there(as_int(notice.args[0]) or notice.pid)
    else:
        kind, number = as_int(notice.args[0]), as_int(notice.args[1])
        process, group, user = OF_SOME_PROCESSES[name]
        if kind == user:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        if kind not in {process, group}:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        found = _there(number or notice.pid) if kind == process else _members(number or os.getpgid(notice.pid))
    if not found:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return found


def _there(number: int) -> Collection[int]:
    return (number,) if number > 0 and os.path.exists(f"/proc/{number}") else ()  # noqa: PTH110 - plain and quick


def _members(group: int) -> Collection[int]:
    numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - names are enough
    return [number for number in numbers if _group_of(number) == group]


def _group_of(number: int) -> int:
    try:
        return os.getpgid(number)
    except OSError:  # it is gone
        return -1


def _is_of_same_process(number: int, thread: int) -> bool:
    """Also where the kernel lets nobody look into it, as a program can ask for."""
    return os.path.exists(f"/proc/{thread}/task/{number}")  # noqa: PTH110 - plain and quick
