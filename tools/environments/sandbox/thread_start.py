"""Starts a process from a thread that has given up its rights: what confines the thread confines the process.

On Linux these restrictions belong to a thread and go to what it starts. So a thread is made for one start, confines
itself, starts the process and is gone: no helper program, nothing that runs between fork and exec, and the process is
a child of ours like any other.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

_GONE_SECONDS = 2.0


class _Start:
    """What the thread was asked, and what came of it."""

    def __init__(self, confine: Callable[[], int], start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._confine = confine
        self._start = start
        self.thread_id = 0
        self.listener = -1
        self.process: subprocess.Popen[bytes] | None = None
        self.problem: BaseException | None = None

    def run(self) -> None:
        """Confine this thread, and start."""
        self.thread_id = threading.get_native_id()
        try:
            self.listener = self._confine()
            self.process = self._start()
        except BaseException as problem:  # noqa: BLE001 - it is raised where the start was asked for
            self.problem = problem


def start_confined(
    confine: Callable[[], int],
    start: Callable[[], subprocess.Popen[bytes]],
    begin: Callable[[Callable[[], None]], None] = lambda begin: begin(),
) -> tuple[subprocess.Popen[bytes], int]:
    """Call `confine`, then `start`, on a thread of their own, and return when that thread is no more.

    A program that the process runs could look into a thread that is under the very same rules; so what is started has
    to wait for a word that comes after this call.

    Args:
        confine: confines its thread; returns the descriptor of a filter's notifications, or -1.
        start: starts the process.
        begin: calls what starts that thread, which inherits from the thread that this is called on.

    Returns:
        the process, and that descriptor, which is the caller's.

    Raises:
        OSError: the thread could not be confined, or the process not be started.
    """
    asked = _Start(confine, start)
    thread = threading.Thread(target=asked.run, name="confined start", daemon=True)
    begin(thread.start)
    thread.join()
    if asked.problem is None and asked.process is not None and _is_gone(asked.thread_id):
        return asked.process, asked.listener
    if asked.listener >= 0:
        os.close(asked.listener)
    if asked.process is not None:
        asked.process.kill()
        asked.process.wait()
    raise asked.problem or OSError("The thread that started a confined command did not end. The command was killed.")


def _is_gone(thread_id: int) -> bool:
    """Wait for the kernel's end of a thread, which comes some microseconds after Python's."""
    entry = Path(f"/proc/self/task/{thread_id}")
    deadline = time.monotonic() + _GONE_SECONDS
    while entry.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0)
    return True
