"""The signal that nobody waits for an answer any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class NobodyWaits:
    """An `Interrupt` for one question: set once, when the last program that waits for its answer is gone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_set = False
        self._callbacks: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Wake every sleeper and run every callback, on this thread."""
        with self._condition:
            if self._is_set:
                return
            self._is_set = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            self._condition.notify_all()
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """As the port says."""
        return self._is_set

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """As the port says."""
        with self._condition:
            if not self._is_set:
                key = object()
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """As the port says."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._condition:
            while not self._is_set:
                if predicate():
                    return True
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._condition.wait(left)
        return False

    def notify(self) -> None:
        """As the port says."""
        with self._condition:
            self._condition.notify_all()

    def _forget(self, key: object) -> None:
        with self._condition:
            self._callbacks.pop(key, None)
