"""The cancel signal of one turn, and the one Condition that everything waiting in the turn sleeps on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class CancelToken:
    """Set once, never reset: each turn has its own. Implements the `Interrupt` port of `tools.ports`.

    A detached worker keeps its turn's token, so that whatever it still tries is refused for ever.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._cancelled = False
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next_key = 0

    def is_set(self) -> bool:
        """True once the turn was cancelled or is over."""
        return self._cancelled

    def cancel(self) -> None:
        """End the turn: wake every sleeper, run every callback (on the caller's thread)."""
        with self._condition:
            if self._cancelled:
                return
            self._cancelled = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            self._condition.notify_all()
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` at the cancel, at once if it has happened; it must be short and must not raise.

        Returns:
            a function that forgets the callback.
        """
        with self._condition:
            if not self._cancelled:
                key = self._next_key
                self._next_key += 1
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Sleep until `predicate` holds.

        Whoever makes the predicate true calls `notify`.

        Args:
            timeout: seconds, None for no limit.

        Returns:
            True when the predicate holds; False after the cancel or the time-out.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._condition:
            while not self._cancelled:
                if predicate():
                    return True
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    return False
                self._condition.wait(remaining)
            return False

    def notify(self) -> None:
        """Make sleepers look at their predicates again."""
        with self._condition:
            self._condition.notify_all()

    def _forget(self, key: int) -> None:
        with self._condition:
            self._callbacks.pop(key, None)
