"""Knows a session's commands, and what they have left, by something that no program can shed.

All confined commands of a session are started from one thread in a Landlock domain of its own: it can look into
nothing outside of it, and signal nothing there (from Landlock 6, Linux 6.12). Their domains lie in this one, whatever
sessions and environments they make for themselves. So those that this thread can look into are exactly they, and
those that it can signal; with an older kernel what is left is not found. What is to end before the session does has a
domain of its own within that one.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Collection

from tools.environments.marked import kill_reachable
from tools.environments.sandbox import kernel
from tools.environments.sandbox.landlock import make_domain

_SIGNALS_SINCE = 6
_END_SECONDS = 5.0


class Warden:
    """One for a session, safe to use from several threads; its thread starts when it is first needed.

    Args:
        version: of Landlock.
        outer: whose domain this one lies in; None for a session's.
    """

    def __init__(self, version: int, outer: Warden | None = None) -> None:
        self._outer = outer
        self._version = version
        self._has_own_ipc = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._works: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()

    def run(self, work: Callable[[], object]) -> None:
        """Call `work` on the thread in whose domain commands belong, and wait for it; so are threads that it starts.

        Raises:
            OSError: the thread could not be put into a domain. Whatever `work` raises.
        """
        with self._lock:
            if self._thread is None:
                self._start()
            asked = _Work(work)
            self._works.put(asked)
        asked.wait()

    def has_own_ipc(self) -> bool:
        """Whether what the session's commands share by System V's means is theirs alone.

        Raises:
            OSError: as `run`.
        """
        self.run(lambda: None)
        return self._has_own_ipc

    def holds(self, numbers: Collection[int]) -> bool:
        """Whether all these are processes or threads of the session's commands. Where that is not clear: no."""
        with self._lock:
            if self._thread is None:
                return False
            found: list[bool] = []
            asked = _Work(lambda: found.append(all(map(_is_open_to_us, numbers))))
            self._works.put(asked)
        asked.wait()
        return found == [True]

    def close(self) -> bool:
        """Kill what is left of the commands, and end the thread; False where it does not know what is left."""
        knows_left = self._version >= _SIGNALS_SINCE
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is None:
                return False
            if knows_left:  # otherwise it can signal all that the user has
                self._works.put(_Work(kill_reachable))
            self._works.put(None)
        thread.join(_END_SECONDS)
        return knows_left

    def _start(self) -> None:
        entering = _Work(self._enter)
        works = self._works = queue.SimpleQueue()
        works.put(entering)
        thread = threading.Thread(target=_serve, args=(works,), name="sandbox-warden", daemon=True)
        if self._outer is None:
            thread.start()
        else:
            self._outer.run(thread.start)
        try:
            entering.wait()
        except BaseException:
            works.put(None)
            raise
        self._thread = thread

    def _enter(self) -> None:
        if self._outer is None:
            self._has_own_ipc = kernel.separate_ipc()
        domain = make_domain(self._version)
        try:
            kernel.gain_no_privileges()
            kernel.restrict_thread(domain)
        finally:
            os.close(domain)


def _is_open_to_us(number: int) -> bool:
    """Whether the calling thread may look into that process, and it is not our own."""
    try:
        os.readlink(f"/proc/{number}/exe")  # noqa: PTH115 - plain and quick
        return not os.path.exists(f"/proc/self/task/{number}")  # noqa: PTH110 - as above
    except OSError:
        return False


class _Work:
    """Something that is done on another thread."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._done = threading.Event()
        self._problem: BaseException | None = None

    def do(self) -> None:
        try:
            self._work()
        except BaseException as problem:  # noqa: BLE001 - it is raised where it was asked for
            self._problem = problem
        finally:
            self._done.set()

    def wait(self) -> None:
        self._done.wait()
        if self._problem is not None:
            raise self._problem


def _serve(works: queue.SimpleQueue[_Work | None]) -> None:
    while (work := works.get()) is not None:
        work.do()
