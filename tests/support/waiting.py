"""Waiting for what other processes do, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from tools.changes.facts import CLOCK_STEP_NS

PATIENCE = 90.0
"""The seconds after which a test gives up waiting: many, for busy machines; only what fails takes so long."""


def wait_until(predicate: Callable[[], bool], timeout: float = PATIENCE) -> None:
    """Return as soon as `predicate` holds; fail after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not predicate():
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not happen within {timeout} s")
        pause.wait(0.01)


def outlast_the_clock(place: Path) -> None:
    """Wait until all files below `place` are old enough for their times to tell them from new ones."""
    newest = max(path.lstat().st_ctime_ns for path in place.rglob("*"))
    wait_until(lambda: time.time_ns() > newest + CLOCK_STEP_NS)
