"""Waiting for another machine, which a cancel ends at once: what was waited for goes on without anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from tools.errors import CommandError
from tools.ports import Interrupt

T = TypeVar("T")


class Cancelled(CommandError):
    """The turn was cancelled before there was an answer."""


def cancellable(work: Callable[[], T], interrupt: Interrupt, where: str) -> T:
    """What `work` returns or raises, done on a thread of its own.

    Args:
        work: changes nothing that somebody would miss or mind after the cancel, as a connection that is made.
        where: what people call the machine.

    Raises:
        Cancelled: the turn is over.
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

    threading.Thread(target=run, name=f"connection to {where}", daemon=True).start()
    interrupt.wait_for(done.is_set)
    if not done.is_set():
        raise Cancelled(f"Cancelled while {where} was connected to.")
    if problems:
        raise problems[0]
    return found[0]
