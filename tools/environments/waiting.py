"""Waiting for what cannot be interrupted: the wait ends with the turn, and the work goes on without anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from tools.errors import ToolInterrupted

T = TypeVar("T")


class Ends(Protocol):
    """The part of an `Interrupt` that ends a wait."""

    def is_set(self) -> bool:
        """Whether nobody waits any more."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` then; returns what forgets it."""
        ...


def awaited(work: Callable[[], T], interrupt: Ends, name: str, seconds: float | None = None) -> T:
    """What `work` returns or raises, done on a thread of its own.

    Args:
        work: changes nothing that somebody would miss or mind after the wait.
        name: of the thread.

    Raises:
        ToolInterrupted: nobody waits any more. TimeoutError: the time is over.
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

    forget = interrupt.on_cancel(done.set)
    try:
        threading.Thread(target=run, name=name, daemon=True).start()
        done.wait(seconds)
    finally:
        forget()
    if interrupt.is_set():
        raise ToolInterrupted
    if problems:
        raise problems[0]
    if not found:
        raise TimeoutError(f"the {name} took too long")
    return found[0]
