"""Two pieces of work measured in turns, so that a busy moment of the machine meets both."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds of what is measured, and of its floor."""

    ours: tuple[float, ...]
    floor: tuple[float, ...]


def in_turns(ours: Callable[[], object], floor: Callable[[], object], repetitions: int) -> Pair:
    """Run both once unmeasured, and then `repetitions` times, one after the other."""
    ours()
    floor()
    pairs = [(seconds(ours), seconds(floor)) for _ in range(repetitions)]
    return Pair(tuple(one for one, _ in pairs), tuple(other for _, other in pairs))


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, once."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
