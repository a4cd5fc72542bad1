"""How worker threads wait with their questions: one after the other, as long as there is something to ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tools.errors import ToolInterrupted
from tools.ports import Interrupt


class OneAtATime:
    """A place that one question has at a time. Whoever waits for it is freed by the cancel of their own turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: list[Interrupt] = []

    @contextmanager
    def place(
        self, turn: Interrupt, is_needless: Callable[[], bool], may_take: Callable[[], bool] = lambda: True
    ) -> Iterator[bool]:
        """Hold the place; False, without it, where the question became needless first.

        Args:
            is_needless, may_take: looked at after each `turn.notify` and each `wake`; quick. Whoever may not take it
                leaves it to others.

        Raises:
            ToolInterrupted: the turn is over.
        """
        taken = False

        def ready() -> bool:
            nonlocal taken
            taken = may_take() and self._take()
            return taken or is_needless()

        with self._lock:
            self._waiting.append(turn)
        try:
            is_ready = turn.wait_for(ready)
        finally:
            with self._lock:
                self._waiting.remove(turn)
        if not is_ready:
            raise ToolInterrupted
        try:
            yield taken
        finally:
            if taken:
                self._leave()

    @property
    def waiting(self) -> int:
        """How many wait for the place."""
        with self._lock:
            return len(self._waiting)

    def wake(self) -> None:
        """Let everyone who waits look again."""
        with self._lock:
            waiting = list(self._waiting)
        for turn in waiting:
            turn.notify()

    def _take(self) -> bool:
        with self._lock:
            if self._taken:
                return False
            self._taken = True
            return True

    def _leave(self) -> None:
        with self._lock:
            self._taken = False
        self.wake()


class OpenQuestion:
    """The interrupt of one question: that of its turn, or that there is nothing to ask any more.

    Implements `Interrupt`. What is to be asked is worked out again on the thread that waits, never on the one that
    changed something.
    """

    def __init__(
        self, turn: Interrupt, changes: Callable[[], int], seen: int, is_needless: Callable[[], bool]
    ) -> None:
        """Make it.

        Args:
            changes: counts what the question may depend on; whoever changes that calls `notify`.
            seen: the count when it was decided to ask.
            is_needless: whether, as things are now, nobody has to be asked.
        """
        self._turn = turn
        self._changes = changes
        self._seen = seen
        self._is_needless = is_needless
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self.is_withdrawn = False

    def is_set(self) -> bool:
        """True once the turn is over or the question is withdrawn."""
        return self.is_withdrawn or self._turn.is_set()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` once at the cancel or the withdrawal; returns a function that forgets it."""
        once = _Once(callback)
        with self._lock:
            if not self.is_withdrawn:
                self._callbacks.append(once)
        if self.is_withdrawn:
            once()
        forget = self._turn.on_cancel(once)

        def forget_both() -> None:
            forget()
            with self._lock:
                if once in self._callbacks:
                    self._callbacks.remove(once)

        return forget_both

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Sleep until `predicate` holds (True); False after the cancel, the withdrawal or `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._look():
            remaining = None if deadline is None else deadline - time.monotonic()
            if not self._turn.wait_for(lambda: self._changes() != self._seen or predicate(), remaining):
                return False
            if self._changes() == self._seen:
                return True
        return False

    def notify(self) -> None:
        """Make the sleeper look again."""
        self._turn.notify()

    def _look(self) -> bool:
        """Whether the question is withdrawn, as things are now."""
        changes = self._changes()
        if changes == self._seen or self.is_withdrawn:
            return self.is_withdrawn
        self._seen = changes
        if not self._is_needless():
            return False
        with self._lock:
            self.is_withdrawn = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        return True


class _Once:
    """A callback that runs at most once."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            callback, self._callback = self._callback, None
        if callback is not None:
            callback()
