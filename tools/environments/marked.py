"""Finds processes by a mark in the environment that they were started with.

A program may leave its process group and its session (`setsid`, a daemon), and still has the environment that it
inherited. Linux only: elsewhere nobody else's environment can be read, and nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

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
    killed: set[int] = set()
    for _ in range(_MAX_ROUNDS):
        found = set(_kill_each(mark))
        if found <= killed:
            break
        killed |= found
    return len(killed)


def _kill_each(mark: str) -> Iterator[int]:
    for name in os.listdir(_PROCESSES) if _PROCESSES.is_dir() else ():  # noqa: PTH208 - names are enough
        if not name.isdecimal() or not _is_marked(_PROCESSES / name / "environ", mark):
            continue
        with contextlib.suppress(OSError):
            _kill(int(name), mark)
            yield int(name)


def _kill(pid: int, mark: str) -> None:
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, signal.SIGKILL)
        return
    handle = os.pidfd_open(pid)
    try:
        # By now the number may be another process's: what the handle stands for is looked at again.
        if _is_marked(_PROCESSES / str(pid) / "environ", mark):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


def _is_marked(environ: Path, mark: str) -> bool:
    try:
        variables = b"\0" + environ.read_bytes()
    except OSError:  # it is gone, or somebody else's
        return False
    return any(f"\0{VARIABLE}={mark}{end}".encode() in variables for end in ("\0", "."))
