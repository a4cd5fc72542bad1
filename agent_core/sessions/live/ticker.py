"""A thread that works when something is due."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_JOIN = 10.0


class Ticker:
    """A daemon thread that ticks while there is something to do, and sleeps otherwise.

    Args:
        tick: does what is due; seconds until the next time, None: not before `wake`. Must not raise.
    """

    def __init__(self, tick: Callable[[], float | None]) -> None:
        self._tick = tick
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._due: float | None = None
        self._closed = False

    def wake(self, within: float) -> None:
        """There is something to do: tick within so many seconds. The first call starts the thread.

        After `close` nothing happens.
        """
        with self._condition:
            if self._closed:
                return
            self._set_due(within)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="session-housekeeping", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Begin no other tick."""
        with self._condition:
            self._closed = True
            self._condition.notify()

    def close(self) -> None:
        """End the thread, after the tick that it is in."""
        self.stop()
        if self._thread is not None:
            self._thread.join(_JOIN)

    def _run(self) -> None:
        while self._sleep():
            pause = self._tick()
            if pause is not None:
                with self._condition:
                    self._set_due(pause)

    def _sleep(self) -> bool:
        """Wait until a tick is due; False once it is closed."""
        with self._condition:
            while not self._closed:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._due = None
                    return True
                self._condition.wait(left)
        return False

    def _set_due(self, within: float) -> None:
        due = time.monotonic() + within
        if self._due is None or due < self._due:
            self._due = due
            self._condition.notify()
