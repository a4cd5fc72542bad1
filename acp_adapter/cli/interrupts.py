"""Ctrl-C and the time limit of a prompt: the first asks the agent to stop, the second stops waiting for it.

SIGTERM and SIGHUP end all at once, but in order: the terminal is left as it was, and the agent does not stay behind.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Literal, Self

Reason = Literal["interrupt", "timeout", "terminated"]

TERMINATED = 128 + signal.SIGTERM
"""The exit code after SIGTERM or SIGHUP."""

_SECONDS_TO_CANCEL = 10.0
_SECONDS_TO_CLEAN_UP = 3.0
_ENDS = (signal.SIGTERM,) if sys.platform == "win32" else (signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """Leave everything as it is: the person insists, or the agent did not even answer the cancellation.

    Attributes:
        reason: what asked for it.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class QuestionAborted(Exception):
    """The turn was cancelled while the person was being asked."""


class Stopping:
    """Raises `Stopped`, and not again while what it ends is cleaned up: held keys send signal after signal."""

    def __init__(self) -> None:
        self._until = 0.0

    def stop(self, reason: Reason) -> None:
        """Raise it, unless it was raised a moment ago.

        Raises:
            Stopped: always, but for that.
        """
        now = time.monotonic()
        if now >= self._until:
            self._until = now + _SECONDS_TO_CLEAN_UP
            raise Stopped(reason)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """While the block runs, SIGTERM and SIGHUP raise `Stopped`. Main thread only."""
    stopping = Stopping()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.stop("terminated")

    before = {number: signal.signal(number, stop) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupts:
    """Turns SIGINT and a timer into calls of `cancel`; a context manager. Main thread only.

    Attributes:
        reason: why the turn is being cancelled, or None.
    """

    def __init__(self, timeout: float | None) -> None:
        self.reason: Reason | None = None
        self._timeout = timeout
        self._cancel: Callable[[], None] | None = None
        self._asking = False
        self._timer: threading.Timer | None = None
        self._has_rung = False
        self._stopping = Stopping()

    def __enter__(self) -> Self:
        self._old_interrupt = signal.signal(signal.SIGINT, self._on_signal)
        self._ring_in(self._timeout)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ring_in(None)
        signal.signal(signal.SIGINT, self._old_interrupt)

    def cancel_by(self, cancel: Callable[[], None]) -> None:
        """The turn begins: the first signal now calls `cancel`, where it raised `Stopped` before."""
        self._cancel = cancel

    def turn_over(self) -> None:
        """There is nothing left to cancel, and no time limit for what is left."""
        self._ring_in(None)
        self._cancel = None

    @contextmanager
    def question(self) -> Iterator[None]:
        """While the person is asked, a cancellation raises `QuestionAborted`."""
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    def _ring_in(self, seconds: float | None) -> None:
        """Let the time be over after so many seconds; None: never."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self._ring) if seconds is not None else None
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def _ring(self) -> None:
        """As Ctrl-C does, in the main thread."""
        self._has_rung = True
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        reason: Reason = "timeout" if self._has_rung else "interrupt"
        self._has_rung = False
        if self._cancel is None or self.reason is not None:
            self._stopping.stop(reason)
            return
        self.reason = reason
        # An agent that ignores a time-out's cancellation is given up; after Ctrl-C that is for the person to say.
        self._ring_in(_SECONDS_TO_CANCEL if reason == "timeout" else None)
        self._cancel()
        if self._asking:
            raise QuestionAborted
