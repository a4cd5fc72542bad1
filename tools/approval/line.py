"""The order in which calls that run side by side may ask the person: the order of the calls, not of their threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


class Line:
    """Who is before whom, for calls that may still ask. Safe to use from several threads.

    A call that is in no line comes after nobody. Calls that need no question never look at it.
    """

    def __init__(self, on_move: Callable[[], None]) -> None:
        """Make it.

        Args:
            on_move: called after each call that leaves, on the thread that it leaves on; short.
        """
        self._on_move = on_move
        self._lock = threading.Lock()
        self._batches: list[list[str]] = []

    @contextmanager
    def in_order(self, calls: Sequence[str]) -> Iterator[None]:
        """While it lasts, each of `calls` asks after those before it, by their ids, have left."""
        batch = list(calls)
        with self._lock:
            self._batches.append(batch)
        try:
            yield
        finally:
            with self._lock:
                self._batches = [other for other in self._batches if other is not batch]
            self._on_move()

    def leave(self, call: str) -> None:
        """A call asks no more: what it wants to do was allowed, or it has ended."""
        with self._lock:
            batch = next((batch for batch in self._batches if call in batch), None)
            if batch is None:
                return
            batch.remove(call)
        self._on_move()

    def may_ask(self, call: str) -> bool:
        """Whether nobody is before this call."""
        with self._lock:
            return all(batch[0] == call for batch in self._batches if call in batch)
