"""One session's events on their way to the editor: in order, merged while the pipe is busy, bounded.

Workers put events; one flush at a time carries them over the event loop into the transport's FIFO. While a flush
is under way, adjacent text of one message grows together: no timers, no added delay, and a flood becomes a few big
pieces. A flush is a plain callback of the loop: a task for each piece of text would cost more than all else. Text
that comes alone, and what a turn tells of its tools, is carried by its own worker where nothing is on its way: to
wake the loop for it costs more than writing it. Beyond a bound the worker waits, so that an editor that stops reading
pauses its turn and loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
)
from agent_core.interrupt import CancelToken
from tools.result import Shown, ShownDiff, ShownOutput, ShownText

log = logging.getLogger(__name__)

MAX_WAITING_CHARS = 1_000_000
"""How much text waits for the editor before the worker does."""

_MAX_MERGED_CHARS = 256 * 1024
_EVENT_SIZE = 100
_ALONE_SECONDS = 0.0001
"""Text comes alone when nothing has come for so long; what comes closer together can merge."""

Deliver = Callable[[SessionEvent], int]
"""Puts an event's messages into the transport's FIFO; returns the position of their end there.

On any thread, one event of a session at a time."""

OnceWritten = Callable[[int, Callable[[], None]], bool]
"""Whether the FIFO is written up to a position; if not, the callback is called on the loop once it is. Any thread."""

_Streamed = AgentText | AgentThought | ToolOutput
_Told = ToolAnnounced | ToolRequested | ToolRunning | ToolFinished | ContextUsed
"""What workers tell of a turn that merges with nothing."""


class Outbox:
    """The queue between one session's workers and the event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        deliver: Deliver,
        once_written: OnceWritten,
        *,
        held: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make it, on the loop.

        Args:
            held: keep everything until `release` (the editor does not know the session yet).
            clock: seconds.
        """
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._deliver = deliver
        self._once_written = once_written
        self._held = held
        self._clock = clock
        self._came = -math.inf
        self._condition = threading.Condition()
        self._queue: deque[_Pending] = deque()
        self._waiting = 0
        self._put = self._written = 0
        self._flushing = False
        self._closed = False
        self._draining = 0
        self._news = asyncio.Event()

    def put(self, event: SessionEvent) -> None:
        """Add an event, from any thread; it never waits. After `close` it is dropped."""
        with self._condition:
            if self._closed:
                return
            if not (self._queue and self._queue[-1].absorb(event)):
                self._queue.append(_Pending(event))
            self._put += 1
            self._waiting += _size(event)
            starts, is_carried = self._claim_flush(), self._is_carried(event)
        if starts and is_carried:
            self._flush()
        elif starts:
            self._loop.call_soon_threadsafe(self._flush)

    def wait_for_space(self, token: CancelToken) -> None:
        """On a worker thread: wait while too much is waiting, until `token` is cancelled."""
        if self._waiting <= MAX_WAITING_CHARS:
            return
        forget = token.on_cancel(self._notify_space)
        try:
            with self._condition:
                self._condition.wait_for(lambda: token.is_set() or self._waiting <= MAX_WAITING_CHARS)
        finally:
            forget()

    def release(self) -> None:
        """The editor knows the session now; on the loop."""
        with self._condition:
            self._held = False
            starts = bool(self._queue) and self._claim_flush()
        if starts:
            self._flush()

    async def close(self) -> None:
        """Wait, on the loop, until what was put is written. What comes later nobody hears: the session is over."""
        await self.drain()
        with self._condition:
            self._closed = True
        # Something may have come between the two.
        await self.drain()

    async def drain(self) -> None:
        """Wait, on the loop, until everything put so far is written; what comes meanwhile is not waited for."""
        with self._condition:
            last = self._put
            self._draining += 1
        try:
            while self._flushing and self._written < last:
                self._news.clear()
                await self._news.wait()
        finally:
            with self._condition:
                self._draining -= 1

    def _claim_flush(self) -> bool:
        if self._flushing or self._held:
            return False
        self._flushing = True
        return True

    def _is_carried(self, event: SessionEvent) -> bool:
        """Whether its worker carries it: what would merge with nothing, and text that nothing came shortly before."""
        before, self._came = self._came, self._clock()
        if isinstance(event, _Streamed) and self._came - before < _ALONE_SECONDS:
            return False
        return isinstance(event, _Streamed | _Told) and not self._on_loop()

    def _on_loop(self) -> bool:
        return threading.get_ident() == self._loop_thread

    def _notify_space(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def _flush(self) -> None:
        """Send one event and what was merged onto it; the next one only when it is written."""
        with self._condition:
            pending = self._queue.popleft()
        try:
            position = self._deliver(pending.merged())
        except Exception:
            # One event's failure must not hold back those behind it, nor the worker that waits for space.
            log.exception("an event could not be shown")
            position = 0
        if self._once_written(position, lambda: self._sent(pending)):
            self._sent(pending)

    def _sent(self, pending: _Pending) -> None:
        with self._condition:
            self._waiting -= pending.size
            self._written += pending.count
            goes_on = self._flushing = bool(self._queue)
            is_awaited = self._draining > 0
            self._condition.notify_all()
        if self._on_loop():
            self._news.set()
        elif is_awaited:
            self._loop.call_soon_threadsafe(self._news.set)
        if goes_on:  # not at once: other sessions and the client's messages have their turn
            self._loop.call_soon_threadsafe(self._flush)


class _Pending:
    """An event with the text that has been merged onto it: `count` events of `size` characters in all."""

    __slots__ = ("_event", "_texts", "count", "size")

    def __init__(self, event: SessionEvent) -> None:
        self._event = event
        self._texts = [event.text] if isinstance(event, _Streamed) else []
        self.size = _size(event)
        self.count = 1

    def absorb(self, event: SessionEvent) -> bool:
        """Take `event` in, if it continues this one."""
        if self.size > _MAX_MERGED_CHARS or not isinstance(event, _Streamed) or not _continues(self._event, event):
            return False
        self._event = event  # the newest one: of a tool's output it has the tail
        self._texts.append(event.text)
        self.size += len(event.text)
        self.count += 1
        return True

    def merged(self) -> SessionEvent:
        """The event with all its text."""
        if not isinstance(self._event, _Streamed) or len(self._texts) == 1:
            return self._event
        return replace(self._event, text="".join(self._texts))


def _continues(last: SessionEvent, event: SessionEvent) -> bool:
    match last, event:
        case (AgentText(message_id=one), AgentText(message_id=other)):
            return one == other
        case (AgentThought(message_id=one), AgentThought(message_id=other)):
            return one == other
        case (ToolOutput(call_id=one), ToolOutput(call_id=other)):
            return one == other
    return False


def _size(event: SessionEvent) -> int:
    """About how many characters of memory an event holds."""
    match event:
        case AgentText() | AgentThought() | ToolOutput():
            return len(event.text)
        case ToolRequested(arguments=arguments):
            return _EVENT_SIZE + _length(arguments.values())
        case ToolFinished(arguments=arguments, result=result):
            return _EVENT_SIZE + _length(arguments.values()) + len(result.text) + sum(map(_shown, result.shown))
    return _EVENT_SIZE


def _shown(shown: Shown) -> int:
    match shown:
        case ShownText():
            return len(shown.text)
        case ShownDiff():
            return _length((shown.before, shown.after))
        case ShownOutput():
            return len(shown.output)


def _length(values: Iterable[object]) -> int:
    return sum(len(value) for value in values if isinstance(value, str))
