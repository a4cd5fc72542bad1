"""A lock that threads get in the order in which they asked for it."""

from __future__ import annotations

import threading
from collections import deque


class FairLock:
    """A lock with a queue: a thread that takes it again and again cannot keep the others waiting."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_held = False

    def acquire(self, timeout: float) -> bool:
        """Take the lock within `timeout` seconds; False if it could not be had."""
        with self._mutex:
            if not self._is_held:
                self._is_held = True
                return True
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        try:
            if ticket.acquire(timeout=max(timeout, 0.0)):
                return True
        except BaseException:
            if not self._give_up(ticket):
                self.release()
            raise
        return not self._give_up(ticket)

    def release(self) -> None:
        """Hand the lock to the thread that has waited longest, or free it."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_held = False

    def _give_up(self, ticket: threading.Lock) -> bool:
        """Leave the queue; False if the lock was handed to us just before."""
        with self._mutex:
            if ticket not in self._waiting:
                return False
            self._waiting.remove(ticket)
            return True
