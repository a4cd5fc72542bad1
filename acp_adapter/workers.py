"""Threads for what would block the event loop."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

_IDLE_SECONDS = 10.0

_T = TypeVar("_T")


class Workers(Executor):
    """At most `most` threads. What finds all of them at work waits for one, in order.

    A thread that has had nothing to do for `idle_seconds` ends, and with it what it kept for itself. None of them
    keeps the process from ending.

    Attributes:
        idle: how many wait for something to do.
    """

    def __init__(self, most: int, name: str, idle_seconds: float = _IDLE_SECONDS) -> None:
        self._most = most
        self._name = name
        self._idle_seconds = idle_seconds
        self._condition = threading.Condition()
        self._queue: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._numbers = itertools.count(1)
        self._threads = self.idle = 0

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        """As in `Executor`."""
        future: Future[_T] = Future()
        with self._condition:
            self._queue.append((future, lambda: fn(*args, **kwargs)))
            if self.idle >= len(self._queue) or self._threads >= self._most:
                self._condition.notify()
                return future
            self._threads += 1
        self._begin()
        return future

    async def run(self, function: Callable[[], _T]) -> _T:
        """Run `function` on one of the threads and await its result, on the loop."""
        return await asyncio.get_running_loop().run_in_executor(self, function)

    def rest(self) -> None:
        """From now on no thread waits for more to do. What still comes is done all the same."""
        with self._condition:
            self._idle_seconds = 0.0
            self._condition.notify_all()

    def _begin(self) -> None:
        try:
            threading.Thread(target=self._run, name=f"{self._name}_{next(self._numbers)}", daemon=True).start()
        except RuntimeError:  # the system gives no more threads: those that are there will come to it
            with self._condition:
                self._threads -= 1
                if not self._threads:
                    self._queue.pop()
                    raise

    def _run(self) -> None:
        while (work := self._next()) is not None:
            _do(*work)
            del work  # nothing of it is kept while the next is waited for

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._condition:
            self.idle += 1
            self._condition.wait_for(lambda: self._queue or not self._idle_seconds, self._idle_seconds)
            self.idle -= 1
            if self._queue:
                return self._queue.popleft()
            self._threads -= 1
            return None


def _do(future: Future[Any], function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as problem:  # noqa: BLE001 - whoever awaits it hears of it
        future.set_exception(problem)
    else:
        future.set_result(result)
