"""One session's events on their way to the editor: in order, merged while the pipe is busy, bounded.

Workers put events; one flush at a time carries them over the event loop into the transport's FIFO. While a flush
is under way, adjacent text of one message grows together: no timers, no added delay, and a flood becomes a few big
pieces. A flush is a plain callback of the loop: a task for each piece of text would cost more than all else. Text
that comes alone, and what a turn tells of its tools, is carried by its own worker where nothing is on its way: to
wake the loop for it costs more than writing it. Beyond a bound the worker waits, so that an editor that stops reading
pauses its turn and loses nothing.

A cancel overtakes what waits (`hurry`): text is sent in short pieces, one at a time, so that little is past recall
when the cancel comes, and most of the rest is left out of the view. It is in the store, from before it was put here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from agent_core.events import (
    AgentText,
    AgentThought,
    ContextUsed,
    Noticed,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
)
from agent_core.interrupt import CancelToken
from tools.result import Shown, ShownDiff, ShownOutput, ShownText, ToolResult

log = logging.getLogger(__name__)

MAX_WAITING_CHARS = 1_000_000
"""How much text waits for the editor before the worker does."""

MOST_AT_ONCE = 3_500
"""How much text one update carries, in characters. With what is around it that is less than a pipe takes at once."""

MOST_AFTER_CANCEL = 4_096
"""How much more text is sent once the turn is cancelled, in characters."""

LEFT_OUT = (
    "Some of what came before the cancel is not shown, because the editor had not read that far. It is stored: load "
    "the session again to see it."
)
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
        # How much more text is sent; None while there is no cancel.
        self._room: int | None = None
        self._has_left_out = False

    def put(self, event: SessionEvent) -> None:
        """Add an event, from any thread; it never waits. After `close` it is dropped."""
        with self._condition:
            if self._closed:
                return
            self._put += 1
            for each in self._fitting(event):
                self._take(each, self._put)
            starts, is_carried = bool(self._queue) and self._claim_flush(), self._is_carried(event)
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

    def hurry(self) -> None:
        """The turn is cancelled, and its answer must not wait for an editor to read all that it was told before.

        From now on only a little more text is sent, of what waits and of what still comes; cards end all the same,
        and the person is told that something is left out. Any thread.
        """
        with self._condition:
            if self._room is not None:
                return
            self._room = MOST_AFTER_CANCEL
            waiting, self._queue = self._queue, deque()
            for pending in waiting:
                self._waiting -= pending.size
                for event in self._fitting(pending.rest()):
                    self._take(event, pending.number)
            self._condition.notify_all()

    def calm(self) -> None:
        """The cancelled turn is over: what comes now is sent whole."""
        with self._condition:
            self._room, self._has_left_out = None, False

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

    def _take(self, event: SessionEvent, number: int) -> None:
        if not (self._queue and self._queue[-1].absorb(event, number)):
            self._queue.append(_Pending(event, number))
        self._waiting += _size(event)

    def _fitting(self, event: SessionEvent) -> tuple[SessionEvent, ...]:
        """What is sent of an event: all of it, unless a cancel hurries and there is no room left for its text."""
        if self._room is None:
            return (event,)
        size = _told(event)
        if size <= self._room:
            self._room -= size
            return (event,)
        kept: tuple[SessionEvent, ...] = ()
        if isinstance(event, _Streamed) and self._room:
            kept, self._room = (replace(event, text=event.text[: self._room]),), 0
        if self._has_left_out:
            return kept
        self._has_left_out = True
        return (*kept, Noticed(f"{secrets.token_hex(8)}-notice-1", LEFT_OUT))

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
        """Send one event, with what was merged onto it as far as it fits; the next one only when that is written."""
        with self._condition:
            pending = self._queue[0]
            before = pending.size
            event = pending.piece()
            size, number = before - pending.size, 0
            if not pending.size:
                self._queue.popleft()
                number = pending.number
        try:
            position = self._deliver(event)
        except Exception:
            # One event's failure must not hold back those behind it, nor the worker that waits for space.
            log.exception("an event could not be shown")
            position = 0
        if self._once_written(position, lambda: self._sent(size, number)):
            self._sent(size, number)

    def _sent(self, size: int, number: int) -> None:
        with self._condition:
            self._waiting -= size
            self._written = max(self._written, number)
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
    """An event with the text that was merged onto it. Of its characters `size` are not sent; `number` is that of the
    last event in it, in the order in which they were put.
    """

    __slots__ = ("_event", "_texts", "number", "size")

    def __init__(self, event: SessionEvent, number: int) -> None:
        self._event = event
        self._texts = [event.text] if isinstance(event, _Streamed) else []
        self.size = _size(event)
        self.number = number

    def absorb(self, event: SessionEvent, number: int) -> bool:
        """Take `event` in, if it continues this one."""
        if not isinstance(event, _Streamed) or not _continues(self._event, event):
            return False
        self._event = event  # the newest one: of a tool's output it has the tail
        self._texts.append(event.text)
        self.size += len(event.text)
        self.number = number
        return True

    def piece(self) -> SessionEvent:
        """What is sent of it next; what is left stays, with its `size`."""
        event = self.rest()
        self.size = 0
        if not isinstance(event, _Streamed) or len(event.text) <= MOST_AT_ONCE:
            return event
        self._texts = [event.text[MOST_AT_ONCE:]]
        self.size = len(event.text) - MOST_AT_ONCE
        return replace(event, text=event.text[:MOST_AT_ONCE])

    def rest(self) -> SessionEvent:
        """The event with all its text that is not sent."""
        if not isinstance(self._event, _Streamed):
            return self._event
        if len(self._texts) == 1 and self._texts[0] is self._event.text:
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
            return _EVENT_SIZE + _length(arguments.values()) + _length_of(result)
    return _EVENT_SIZE


def _told(event: SessionEvent) -> int:
    """How many characters of an event need not reach the editor: how a call has ended, and what it did, has to."""
    return len(event.text) if isinstance(event, _Streamed) else 0


def _length_of(result: ToolResult) -> int:
    return len(result.text) + sum(map(_shown, result.shown)) + sum(len(image.data) for image in result.images)


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
