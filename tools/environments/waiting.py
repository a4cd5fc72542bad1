"""Waiting for what cannot be interrupted: the wait ends with the turn, and the work goes on without anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tools.errors import ToolInterrupted
from tools.ports import Interrupt

T = TypeVar("T")


def awaited(work: Callable[[], T], interrupt: Interrupt, name: str, seconds: float | None = None) -> T:
    """What `work` returns or raises, done on a thread of its own.

    Args:
        work: changes nothing that somebody would miss or mind after the wait.
        name: of the thread.

    Raises:
        ToolInterrupted: the turn is over. TimeoutError: the time is over.
    """
    found: list[T] = []
    problems: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as problem:  # noqa: BLE001 - raised below, by who waits for it
            problems.append(problem)
        finally:
            done.set()
            interrupt.notify()

    threading.Thread(target=run, name=name, daemon=True).start()
    if not interrupt.wait_for(done.is_set, seconds):
        raise ToolInterrupted if interrupt.is_set() else TimeoutError(f"the {name} took too long")
    if problems:
        raise problems[0]
    return found[0]
