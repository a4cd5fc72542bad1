"""Messages on their way from the reader thread to whoever takes them: first the front door, then the event loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from acp_adapter.jsonrpc import Incoming

if TYPE_CHECKING:
    import asyncio


class Inbox:
    """A queue with a blocking and an awaiting end; at most one of the two is used at a time.

    `put` blocks the reader thread while `bound` messages wait, or have more than `most_bytes` together, so that a
    flood stays in the pipe.
    """

    def __init__(self, bound: int = 1000, most_bytes: int = 64 << 20) -> None:
        self._bound = bound
        self._most_bytes = most_bytes
        self._condition = threading.Condition()
        self._queue: deque[tuple[Incoming | None, int]] = deque()
        self._bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, message: Incoming | None, size: int = 0) -> None:
        """Add a message of `size` bytes; None says that no more will come."""
        with self._condition:
            if message is not None:
                self._condition.wait_for(lambda: self._has_room(size))
            self._queue.append((message, size))
            self._bytes += size
            self._condition.notify_all()
            loop, waiter, self._waiter = self._loop, self._waiter, None
        if loop is not None and waiter is not None:
            _call(loop, lambda: _wake(waiter))

    def put_back(self, message: Incoming) -> None:
        """Return a message that was taken, to be taken first again."""
        with self._condition:
            self._queue.appendleft((message, 0))

    def take(self) -> Incoming | None:
        """Wait for the next message, without an event loop."""
        with self._condition:
            self._condition.wait_for(lambda: self._queue)
            return self._first()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on messages are awaited on `loop`."""
        with self._condition:
            self._loop = loop

    async def receive(self) -> Incoming | None:
        """Wait for the next message, on the loop."""
        await self._until_more(0)
        with self._condition:
            return self._first()

    async def peek(self) -> Incoming | None:
        """The same, and it stays the next one."""
        await self._until_more(0)
        return self._queue[0][0]

    async def waiting(self, beyond: int) -> tuple[Incoming | None, ...]:
        """Wait for more than so many messages; those behind them, which stay."""
        await self._until_more(beyond)
        with self._condition:
            return tuple(message for message, _ in islice(self._queue, beyond, None))

    async def _until_more(self, than: int) -> None:
        """What is there then, only the loop takes."""
        while True:
            with self._condition:
                if len(self._queue) > than:
                    return
                assert self._loop is not None, "attach comes first"  # noqa: S101
                waiter = self._waiter = self._loop.create_future()
            await waiter

    def _has_room(self, size: int) -> bool:
        return not self._queue or (len(self._queue) < self._bound and self._bytes + size <= self._most_bytes)

    def _first(self) -> Incoming | None:
        message, size = self._queue.popleft()
        self._bytes -= size
        self._condition.notify_all()
        return message


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        return  # the loop is closed: the process is ending
