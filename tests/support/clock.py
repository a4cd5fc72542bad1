"""A clock that stands still unless the test moves it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """Seconds that pass when the test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now
