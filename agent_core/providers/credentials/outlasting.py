"""Work that must be finished once it has begun, though whoever waits for it may leave."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from agent_core.errors import TurnInterrupted

_POLL = 0.05
Result = TypeVar("Result")
Cancelled = Callable[[], bool]


def outlasting(work: Callable[[Cancelled], Result], cancelled: Cancelled) -> Result:
    """The outcome of `work`, which runs on a thread of its own.

    At the cancel the caller is let go at once. The work goes on: it is told by its argument that nobody waits, and
    ends early only where nothing can be lost.

    Raises:
        TurnInterrupted: it was cancelled. What `work` raises.
    """
    abandoned = threading.Event()
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work(abandoned.is_set))
        except BaseException as problem:  # noqa: BLE001 - it is the caller's
            outcome.set_exception(problem)

    threading.Thread(target=run, name="outlasting", daemon=True).start()
    while not wait([outcome], _POLL).done:
        if cancelled():
            abandoned.set()
            raise TurnInterrupted
    return outcome.result()
