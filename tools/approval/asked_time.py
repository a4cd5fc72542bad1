"""What the person was asked on behalf of a call that makes others: for how long, which is not its own time, and in
vain how often.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tools.approval.actions import Action

MOST_NOES = 5
"""After so many in a row nobody is asked any more for the call that they were for."""


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


class Watch(Stopwatch):
    """Of one call: runs while calls that it makes ask the person, and knows what they have said no to.

    A loop may go on after a no, and the next question is as quickly asked as answered: it has to end by itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self._refused: list[Action] = []
        self._in_a_row = 0

    def heard(self, action: Action, *, allowed: bool) -> None:
        """The person was asked about `action`; no answer is a no."""
        with self._lock:
            self._in_a_row = 0 if allowed else self._in_a_row + 1
            if not allowed:
                self._refused.append(action)

    def has_refused(self, action: Action) -> bool:
        """Whether it was asked about in vain."""
        with self._lock:
            return action in self._refused

    def is_enough(self) -> bool:
        """Whether nothing more is to be asked."""
        with self._lock:
            return self._in_a_row >= MOST_NOES


class AskedTime:
    """A watch for each call that is watched, by its id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[str, Watch] = {}

    @contextmanager
    def watching(self, call_id: str) -> Iterator[Watch]:
        """While it lasts, the calls that `call_id` makes are watched."""
        watch = Watch()
        with self._lock:
            self._watches[call_id] = watch
        try:
            yield watch
        finally:
            with self._lock:
                self._watches.pop(call_id, None)

    @contextmanager
    def asking_for(self, parent: str) -> Iterator[Watch | None]:
        """A call that `parent` makes asks, or waits for its turn to; '' for one that the model makes.

        Yields:
            the watch of `parent`, None where it is not watched.
        """
        with self._lock:
            watch = self._watches.get(parent)
        if watch is None:
            yield None
            return
        with watch.running():
            yield watch
