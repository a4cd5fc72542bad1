"""Finds processes by a mark in the environment that they were started with.

A program may leave its process group and its session (`setsid`, a daemon), and still has the environment that it
inherited; or it has thrown that away, and is still in its session. Who does both is found only by a thread that the
kernel lets signal no others. Linux only: elsewhere nobody else's environment can be read, and nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tools.os_compat import SIGKILL

VARIABLE = "HERMES_COMMANDS_OF"
"""The variable that holds the mark."""

_PROCESSES = Path("/proc")
# Whoever starts another process while we look is found the next time.
_MAX_ROUNDS = 20


def kill_marked(mark: str) -> int:
    """Kill every process whose mark is `mark`, or begins with it and a dot.

    Returns:
        how many there were.
    """
    ends = [f"\0{VARIABLE}={mark}{end}".encode() for end in ("\0", ".")]
    return _kill_all(lambda pid: _is_marked(pid, ends))


def kill_sessions(numbers: Collection[int]) -> int:
    """Kill every process of these sessions (setsid(2)) that is confined by a filter of calls, as those of ours are.

    A program can leave its group and throw away its environment, and is still in its session, unless it makes one of
    its own. The number of a session that is over may be another one's by now: hence the look at what confines it.

    Returns:
        how many there were.
    """
    return _kill_all(lambda pid: _is_confined_in(pid, numbers)) if numbers else 0


def kill_reachable() -> int:
    """Kill every confined process that the calling thread may signal: for one that may signal none but these.

    Returns:
        how many there were.
    """
    return _kill_all(_is_reachable)


def _kill_all(is_meant: Callable[[int], bool]) -> int:
    killed: set[int] = set()
    for _ in range(_MAX_ROUNDS):
        found = set(_kill_each(is_meant))
        if found <= killed:
            break
        killed |= found
    return len(killed)


def _kill_each(is_meant: Callable[[int], bool]) -> Iterator[int]:
    for name in os.listdir(_PROCESSES) if _PROCESSES.is_dir() else ():  # noqa: PTH208 - names are enough
        if not name.isdecimal() or not is_meant(int(name)):
            continue
        with contextlib.suppress(OSError):
            _kill(int(name), is_meant)
            yield int(name)


def _kill(pid: int, is_meant: Callable[[int], bool]) -> None:
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, SIGKILL)
        return
    handle = os.pidfd_open(pid)
    try:
        # By now the number may be another process's: what the handle stands for is looked at again.
        if is_meant(pid):
            signal.pidfd_send_signal(handle, SIGKILL)
    finally:
        os.close(handle)


def _is_marked(pid: int, marks: Collection[bytes]) -> bool:
    try:
        variables = b"\0" + _facts(pid, "environ")
    except OSError:  # it is gone, or somebody else's
        return False
    return any(mark in variables for mark in marks)


def _is_reachable(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return pid != os.getpid() and b"\nNoNewPrivs:\t1\n" in _facts(pid, "status")
    except OSError:
        return False


def _is_confined_in(pid: int, sessions: Collection[int]) -> bool:
    try:
        if os.getsid(pid) not in sessions:
            return False
        status = _facts(pid, "status")
    except OSError:
        return False
    return b"\nNoNewPrivs:\t1\n" in status and b"\nSeccomp:\t2\n" in status


def _facts(pid: int, name: str) -> bytes:
    """What the system tells of a process, without a detour by paths: all processes are looked at.

    Raises:
        OSError: it is gone, or somebody else's.
    """
    with open(f"{_PROCESSES}/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - said above
        return file.read()
