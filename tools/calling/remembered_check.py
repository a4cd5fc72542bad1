"""A tool's own check of whether it can be used, asked no more often than is useful."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

Check = Callable[[], bool]

_SECONDS = 30.0


class RememberedCheck:
    """A tool's own check, whose answer counts for 30 seconds; tools that share a check share its answer."""

    __slots__ = ("_answer", "_asked", "_check", "_lock")

    def __init__(self, check: Check) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._answer = False
        self._asked: float | None = None

    def __call__(self) -> bool:
        """Ask, or give the answer that still counts. What the check raises is told once and counts as no."""
        with self._lock:
            now = time.monotonic()
            if self._asked is not None and now - self._asked < _SECONDS:
                return self._answer
            self._answer, self._asked = False, now
            self._answer = bool(self._check())
            return self._answer

    def forget(self) -> None:
        """Ask again next time."""
        with self._lock:
            self._asked = None
