"""Limits of what a process may use, set from outside before it begins."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from tools.environments.sandbox.port import Limits

if sys.platform != "win32":
    import resource


def limit_process(pid: int, limits: Limits) -> None:
    """Limit a process of ours and all that it will start; never beyond what it is limited to already.

    Raises:
        OSError: a limit could not be set, or the system cannot set limits from outside.
    """
    wanted = _wanted(limits)
    if not wanted:
        return
    if not hasattr(resource, "prlimit"):
        raise OSError("This system cannot limit a command that is started. Remove sandbox.limits from the settings.")
    for kind, value in wanted.items():
        _, most = resource.prlimit(pid, kind)
        bounded = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(pid, kind, (bounded, bounded))


def _wanted(limits: Limits) -> dict[int, int]:
    found = {
        resource.RLIMIT_CPU: limits.cpu_seconds,
        # What it writes to, not what it reserves: some runtimes reserve more than any machine has.
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        # The kernel counts all processes of a user.
        resource.RLIMIT_NPROC: None if limits.processes is None else limits.processes + _tasks_of_user(),
    }
    return {kind: value for kind, value in found.items() if value is not None}


def _tasks_of_user() -> int:
    """How many processes and threads the user has."""
    count = 0
    for entry in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # gone meanwhile
                count += len(os.listdir(entry / "task")) if entry.stat().st_uid == os.geteuid() else 0  # noqa: PTH208
    return count
