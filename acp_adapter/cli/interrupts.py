"""Ctrl-C and the time limit of a prompt: the first asks the agent to stop, the second stops waiting for it.

SIGTERM and SIGHUP end all at once, but in order: the terminal is left as it was, and the agent does not stay behind.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Literal, Self

# A timer that interrupts the main thread: the system's own, or a thread where the system has none.

_Handler = Callable[[int, FrameType | None], None]


class Alarm:
    """Rings in the main thread as a signal does. Main thread only.

    Where there is no alarm's signal (Windows), it rings as Ctrl-C and `rang` tells the two apart.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._has_rung = False

    if sys.platform == "win32":

        def arm(self, _handler: _Handler) -> None:
            """The handler of Ctrl-C gets it."""

        def disarm(self) -> None:
            """It rings no more."""
            self.ring_in(0)

        def ring_in(self, seconds: float) -> None:
            """Ring after so many seconds; 0: not at all."""
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(seconds, self._ring) if seconds else None
            if self._timer is not None:
                self._timer.daemon = True
                self._timer.start()

        def rang(self, _number: int) -> bool:
            """Whether a signal is this alarm's."""
            was, self._has_rung = self._has_rung, False
            return was

        def _ring(self) -> None:
            self._has_rung = True
            signal.raise_signal(signal.SIGINT)

    else:

        def arm(self, handler: _Handler) -> None:
            """Have `handler` called when it rings."""
            self._before = signal.signal(signal.SIGALRM, handler)

        def disarm(self) -> None:
            """It rings no more."""
            self.ring_in(0)
            signal.signal(signal.SIGALRM, self._before)

        def ring_in(self, seconds: float) -> None:
            """Ring after so many seconds; 0: not at all."""
            signal.setitimer(signal.ITIMER_REAL, seconds)

        def rang(self, number: int) -> bool:
            """Whether a signal is this alarm's."""
            return number == signal.SIGALRM


# Signals that came just before a wait began are sent again: else they would be seen only once it is over.

_SECONDS_TO_BE_HANDLED = 0.3


@contextmanager
def nudged(numbers: Collection[int], is_handled: Callable[[], bool]) -> Iterator[None]:
    """While the block runs, a signal of `numbers` is sent to the main thread until it `is_handled`. Main thread only.

    A line editor that is about to wait for a key does not see that a signal has come; a handler in Python runs only
    once that wait is over.
    """
    if not hasattr(signal, "pthread_kill"):
        yield
        return
    hears, tells = socket.socketpair()
    tells.setblocking(False)
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    main = threading.get_ident()

    def work() -> None:
        while came := hears.recv(1):
            if came[0] not in numbers:
                continue
            time.sleep(_SECONDS_TO_BE_HANDLED)
            if not is_handled():
                signal.pthread_kill(main, came[0])  # which is told to us again

    thread = threading.Thread(target=work, name="signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        tells.close()
        thread.join()
        hears.close()


# What the signals do.

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
    """Raises `Stopped`, and not again while what it ends is cleaned up: held keys send signal after signal.

    Attributes:
        has_stopped: it was raised.
    """

    def __init__(self) -> None:
        self.has_stopped = False
        self._until = 0.0

    def stop(self, reason: Reason) -> None:
        """Raise it, unless it was raised a moment ago.

        Raises:
            Stopped: always, but for that.
        """
        now = time.monotonic()
        if now >= self._until:
            self.has_stopped = True
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
        with nudged(_ENDS, lambda: stopping.has_stopped):
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
        self._alarm = Alarm()
        self._stopping = Stopping()

    def __enter__(self) -> Self:
        self._old_interrupt = signal.signal(signal.SIGINT, self._on_signal)
        if self._timeout is not None:
            self._alarm.arm(self._on_signal)
            self._alarm.ring_in(self._timeout)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timeout is not None:
            self._alarm.disarm()
        signal.signal(signal.SIGINT, self._old_interrupt)

    def cancel_by(self, cancel: Callable[[], None]) -> None:
        """The turn begins: the first signal now calls `cancel`, where it raised `Stopped` before."""
        self._cancel = cancel

    def turn_over(self) -> None:
        """There is nothing left to cancel, and no time limit for what is left."""
        if self._timeout is not None:
            self._alarm.ring_in(0)
        self._cancel = None

    @contextmanager
    def question(self) -> Iterator[None]:
        """While the person is asked, a cancellation raises `QuestionAborted`."""
        self._asking = True
        try:
            yield
        finally:
            self._asking = False

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        reason: Reason = "timeout" if self._alarm.rang(number) else "interrupt"
        if self._cancel is None or self.reason is not None:
            self._stopping.stop(reason)
            return
        self.reason = reason
        # An agent that ignores a time-out's cancellation is given up; after Ctrl-C that is for the person to say.
        if self._timeout is not None:
            self._alarm.ring_in(_SECONDS_TO_CANCEL if reason == "timeout" else 0)
        self._cancel()
        if self._asking:
            raise QuestionAborted
