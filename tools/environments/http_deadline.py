"""How long a request may still take, and whether its turn is still on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tools.errors import ToolInterrupted
from tools.ports import Interrupt, WebError


class Deadline:
    """One request's time; what the person takes to answer does not count.

    Args:
        seconds: for everything else together.
        url: for the message.
    """

    def __init__(
        self, seconds: float, url: str, interrupt: Interrupt, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.interrupt = interrupt
        self._seconds = seconds
        self._url = url
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds that are left, more than 0.

        Raises:
            WebError: none. ToolInterrupted: the turn is over.
        """
        if self.interrupt.is_set():
            raise ToolInterrupted
        left = self._end - self._clock()
        if left <= 0:
            raise self.missed()
        return left

    def missed(self) -> Exception:
        """What to raise when the time is over."""
        if self.interrupt.is_set():
            return ToolInterrupted()
        return WebError(
            f"{self._url} did not answer completely within {self._seconds:g} seconds. Try it again later, or another "
            "source.",
            "timeout",
        )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time in here does not count."""
        start = self._clock()
        try:
            yield
        finally:
            self._end += self._clock() - start
