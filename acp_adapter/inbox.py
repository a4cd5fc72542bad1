"""Messages on their way from the reader thread to whoever takes them: first the front door, then the event loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from acp_adapter.jsonrpc import Incoming

if TYPE_CHECKING:
    import asyncio


class Inbox:
    """A queue with a blocking and an awaiting end; at most one of the two is used at a time.

    `put` blocks the reader thread while `bound` messages wait, so that a flood stays in the pipe.
    """

    def __init__(self, bound: int = 1000) -> None:
        self._bound = bound
        self._condition = threading.Condition()
        self._queue: deque[Incoming | None] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, message: Incoming | None) -> None:
        """Add a message; None says that no more will come."""
        with self._condition:
            if message is not None:
                self._condition.wait_for(lambda: len(self._queue) < self._bound)
            self._queue.append(message)
            self._condition.notify_all()
            loop = self._loop
        if loop is not None:
            _call(loop, self._wake)

    def put_back(self, message: Incoming) -> None:
        """Return a message that was taken, to be taken first again."""
        with self._condition:
            self._queue.appendleft(message)

    def take(self) -> Incoming | None:
        """Wait for the next message, without an event loop."""
        with self._condition:
            self._condition.wait_for(lambda: self._queue)
            message = self._queue.popleft()
            self._condition.notify_all()
            return message

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on messages are awaited on `loop`."""
        with self._condition:
            self._loop = loop

    async def receive(self) -> Incoming | None:
        """Wait for the next message, on the loop."""
        while True:
            with self._condition:
                if self._queue:
                    message = self._queue.popleft()
                    self._condition.notify_all()
                    return message
                assert self._loop is not None, "attach comes first"  # noqa: S101
                self._waiter = self._loop.create_future()
            await self._waiter

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        return  # the loop is closed: the process is ending
