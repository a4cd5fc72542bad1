"""How long to wait before the next attempt."""

from __future__ import annotations

import random
from dataclasses import field

from tools.light_dataclass import dataclass


@dataclass(slots=True)
class Backoff:
    """Jittered exponential waits, decorrelated: sessions that failed together do not come back together.

    Attributes:
        base: the shortest wait, in seconds.
        cap: the longest.
    """

    base: float = 0.5
    cap: float = 30.0
    chance: random.Random = field(default_factory=random.SystemRandom)
    _last: float = 0.0

    def next(self) -> float:
        """Seconds to wait now: at random between `base` and three times the wait before."""
        self._last = min(self.cap, self.chance.uniform(self.base, max(self.base, self._last) * 3))
        return self._last

    def after(self, asked: float) -> float:
        """Seconds to wait where the server asked for `asked`: never less, and a little more for some."""
        return asked + self.chance.uniform(0, min(1.0, asked * 0.1))
