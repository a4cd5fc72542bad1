"""Trying again while another process is writing: short random waits, so that nobody starves."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from agent_core.sessions.database.store_faults import is_busy

_SHORTEST = 0.0002
_LONGEST_AT_FIRST = 0.005
_LONGEST = 0.025
_GROWTH = 1.25

Result = TypeVar("Result")


def pauses() -> Iterator[float]:
    """Seconds to wait before each next try, without an end."""
    longest = _LONGEST_AT_FIRST
    while True:
        yield random.uniform(_SHORTEST, longest)  # noqa: S311 - no secret
        longest = min(longest * _GROWTH, _LONGEST)


def retried(action: Callable[[], Result], deadline: float) -> Result:
    """What `action` returns, tried again while the database is busy.

    Args:
        deadline: on `time.monotonic`; it is tried once at least.

    Raises:
        sqlite3.Error: what the last try raised.
    """
    for pause in pauses():
        try:
            return action()
        except sqlite3.OperationalError as problem:
            left = deadline - time.monotonic()
            if not is_busy(problem) or left <= 0:
                raise
        time.sleep(min(pause, left))
    raise AssertionError  # the pauses have no end
