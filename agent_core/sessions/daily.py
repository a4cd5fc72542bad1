"""What is done once a day, however long a process lives."""

from __future__ import annotations

from collections.abc import Callable

from tools.light_dataclass import dataclass

DAY = 24 * 3600.0
"""Seconds."""


@dataclass(slots=True)
class Daily:
    """A job for the store's quiet times: it works when it is called first, and when a day has gone since.

    Attributes:
        clock: seconds since the epoch.
    """

    work: Callable[[], None]
    clock: Callable[[], float]
    _due: float = float("-inf")

    def __call__(self) -> bool:
        """Do it where it is due; there is never more to do."""
        now = self.clock()
        if now >= self._due:
            self._due = now + DAY
            self.work()
        return False
