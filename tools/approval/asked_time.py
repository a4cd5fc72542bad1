"""How long the person was asked for on behalf of a call that waits for them: time that is not its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Runs while anybody is asked; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._since = 0.0
        self._total = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """While it lasts, the person is asked."""
        with self._lock:
            if not self._open:
                self._since = time.monotonic()
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    self._total += time.monotonic() - self._since

    def seconds(self) -> float:
        """So far."""
        with self._lock:
            return self._total + (time.monotonic() - self._since if self._open else 0.0)


class AskedTime:
    """A stopwatch for each call that is watched, by its id: while calls that this one makes ask the person."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[str, Stopwatch] = {}

    @contextmanager
    def watching(self, call_id: str) -> Iterator[Stopwatch]:
        """While it lasts, the calls that `call_id` makes are watched."""
        watch = Stopwatch()
        with self._lock:
            self._watches[call_id] = watch
        try:
            yield watch
        finally:
            with self._lock:
                self._watches.pop(call_id, None)

    @contextmanager
    def asking_for(self, parent: str) -> Iterator[None]:
        """A call that `parent` makes asks, or waits for its turn to; '' for one that the model makes."""
        with self._lock:
            watch = self._watches.get(parent)
        if watch is None:
            yield
            return
        with watch.running():
            yield
