"""A timer that interrupts the main thread: the system's own, or a thread where the system has none."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

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
