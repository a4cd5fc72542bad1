"""Waiting for what other processes do, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def wait_until(predicate: Callable[[], bool], timeout: float = 15.0) -> None:
    """Return as soon as `predicate` holds; fail after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not predicate():
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not happen within {timeout} s")
        pause.wait(0.01)
