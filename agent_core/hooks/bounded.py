"""Runs code of the user's on a thread of its own, for a bounded time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from agent_core.hooks.hook import HookFailed
from tools.errors import ToolInterrupted
from tools.ports import Interrupt

log = logging.getLogger(__name__)

_T = TypeVar("_T")


def bounded(work: Callable[[], _T], seconds: float, interrupt: Interrupt | None, name: str) -> _T:
    """What `work` returns.

    Args:
        interrupt: ends the wait; None where nothing does.
        name: whose it is, for the thread and the log.

    Raises:
        HookFailed: it raised, or has not ended after `seconds`; then it goes on, and nobody waits for it.
        ToolInterrupted: the turn is over.
    """
    done = threading.Event()
    values: list[_T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            values.append(work())
        except BaseException as problem:  # noqa: BLE001 - it is code of the user's, and is told below
            problems.append(problem)
        finally:
            done.set()
            if interrupt is not None:
                interrupt.notify()

    threading.Thread(target=run, name=name, daemon=True).start()
    if interrupt is None:
        done.wait(seconds)
    else:
        interrupt.wait_for(done.is_set, seconds)
    if not done.is_set():
        if interrupt is not None and interrupt.is_set():
            raise ToolInterrupted
        raise HookFailed(f"has not answered within {seconds:g} seconds")
    if problems:
        problem = problems[0]
        if isinstance(problem, HookFailed | ToolInterrupted):
            raise problem
        log.warning("%s failed", name, exc_info=problem)
        raise HookFailed(f"failed: {type(problem).__name__}: {problem}") from problem
    return values[0]


def in_background(work: Callable[[], object], name: str) -> None:
    """Do `work` on a thread of its own; nobody waits for it, and what it raises is logged."""

    def run() -> None:
        try:
            work()
        except Exception:
            log.warning("%s failed in the background", name, exc_info=True)

    threading.Thread(target=run, name=name, daemon=True).start()
