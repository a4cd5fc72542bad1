"""From an agent's callbacks to session events, and from there, in order and merged, to the editor."""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Literal

from acp_adapter.tools import HeldCall, Hold, look_of
from agent_core.callbacks import (
    AgentCallbacks,
    CallFinished,
    CallOutput,
    CallRequested,
    CallRunning,
    CompressionStep,
    Status,
    StatusKind,
    Step,
    ToolProgress,
)
from agent_core.cancel import CancelToken
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SaidText,
    SessionEvent,
    TerminalShown,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
    tail_of,
    with_tail,
)
from agent_core.messages import INTERRUPTED_RESULT, Message
from agent_core.providers.choice import USUAL_WINDOW
from agent_core.sessions.journal import TurnJournal
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import Shown, ShownDiff, ShownOutput, ShownText, ToolResult

# The outbox: one session's events on their way to the editor, in order, merged while the pipe is busy, bounded.
# Workers put events; one flush at a time carries them over the event loop into the transport's FIFO. While a flush
# is under way, adjacent text of one message grows together: no timers, no added delay, and a flood becomes a few
# big pieces. A flush is a plain callback of the loop: a task for each piece of text would cost more than all else.
# Text that comes alone, and what a turn tells of its tools, is carried by its own worker where nothing is on its
# way: to wake the loop for it costs more than writing it. Beyond a bound the worker waits, so that an editor that
# stops reading pauses its turn and loses nothing.
# A cancel overtakes what waits (`hurry`): text is sent in short pieces, one at a time, so that little is past
# recall when the cancel comes, and most of the rest is left out of the view. It is in the store, from before it was
# put here.

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
            for each in (event,) if self._room is None else self._fitting(event, self._room):
                self._take(each, self._put)
            before, self._came = self._came, self._clock()
            if self._flushing or self._held or not self._queue:
                return
            self._flushing = True
        # Its worker carries what would merge with nothing, and text that nothing came shortly before.
        alone = isinstance(event, _Streamed) and self._came - before >= _ALONE_SECONDS
        if (alone or isinstance(event, _Told)) and threading.get_ident() != self._loop_thread:
            self._flush()
        else:
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
            starts = bool(self._queue) and not self._flushing
            self._flushing = self._flushing or starts
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
                for event in self._fitting(pending.rest(), self._room or 0):
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

    def _fitting(self, event: SessionEvent, room: int) -> tuple[SessionEvent, ...]:
        """What is sent of an event when a cancel hurries: all but text that there is no room for."""
        if not isinstance(event, _Streamed) or len(event.text) <= room:
            self._room = room - (len(event.text) if isinstance(event, _Streamed) else 0)
            return (event,)
        kept = (replace(event, text=event.text[:room]),) if room else ()
        self._room = 0
        if self._has_left_out:
            return kept
        self._has_left_out = True
        return (*kept, Noticed(f"{secrets.token_hex(8)}-notice-1", LEFT_OUT))

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
        if threading.get_ident() == self._loop_thread:
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


# The bridge: one for each turn, used by the turn's worker threads.

Severity = Literal["info", "warning", "error"]
Ask = Callable[[PersonQuestion | PersonPage, Interrupt], PersonAnswer]

_NOTICES: Mapping[StatusKind, Severity] = {
    "background": "info",
    "compression": "warning",
    "context": "warning",
    "copy": "warning",
    "fallback": "warning",
    "hook": "warning",
    "memory": "warning",
    "oversized": "warning",
    "storage": "warning",
    "undelivered": "warning",
    "unread": "warning",
    "unknown_end": "warning",
    "unused": "warning",
}


def compaction_event(compaction_id: str, step: CompressionStep) -> ContextCompacted:
    """The event that shows a step of a compression."""
    made = step.made
    if made is None:
        return ContextCompacted(compaction_id, step.state, error=step.error)
    return ContextCompacted(
        compaction_id, step.state, made.tokens_before, made.tokens_after, made.summary, made.made_by
    )


@dataclass(slots=True)
class _Card:
    """A tool call that the editor shows and that is not final yet."""

    name: str
    arguments: dict[str, object] = field(default_factory=dict)
    runs: bool = False
    in_terminal: bool = False
    tail: str = ""
    shown_at: float = -math.inf
    by: str = ""
    cwd: str = ""


class EventBridge:
    """Turns what a turn's callbacks tell into events in the session's outbox.

    After `close`, whatever the turn's threads still tell is dropped, and every card is final.
    """

    def __init__(
        self,
        outbox: Outbox,
        journal: TurnJournal,
        token: CancelToken,
        *,
        cwd: str,
        turn_id: str,
        output_pause: float,
        picture_pause: float = 0.0,
        hold: Hold | None = None,
        shows_thoughts: Callable[[], bool] = lambda: True,
    ) -> None:
        """Make it.

        Args:
            journal: takes down what is shown, so that it can be shown again.
            output_pause: seconds between two pictures of a tool's output; 0 sends all of it as it comes.
            picture_pause: the same, of tools whose output goes to no terminal in any editor.
            hold: how long cards are held until their titles are known, for an editor that keeps the first one.
            shows_thoughts: whether the person wants to see the model's reasoning now.
        """
        self._outbox = outbox
        self._journal = journal
        self._token = token
        self._cwd = cwd
        self.turn_id = turn_id
        self._output_pause = output_pause
        self._picture_pause = max(output_pause, picture_pause)
        self._shows_thoughts = shows_thoughts
        self._lock = threading.Lock()
        self._cards: dict[str, _Card] = {}
        self._hold = hold
        self._held: dict[str, HeldCall] = {}
        self._message = 1
        self._steered = self._notices = self._compressions = 0
        self._compressing: ContextCompacted | None = None
        self._closed = False
        # Whether the turn is one of the stored conversation.
        self.has_begun: Callable[[], bool] = lambda: False

    def callbacks(
        self,
        on_tool: Callable[[ToolProgress], None] | None = None,
        ask: Ask | None = None,
        on_mode: Callable[[str], None] | None = None,
    ) -> AgentCallbacks:
        """The listeners to give to the agent for this turn.

        Args:
            on_tool: hears how calls go on, in place of the bridge, which it tells.
            ask: puts a question to the person.
            on_mode: is told of a mode that the agent changed.
        """
        return AgentCallbacks(
            stream_delta_callback=self.on_text,
            reasoning_callback=self.on_thought,
            thinking_callback=self.on_note,
            tool_gen_callback=self.on_tool_begun,
            tool_args_callback=None if self._hold is None else self.on_tool_arguments,
            tool_progress_callback=on_tool or self.on_tool,
            step_callback=self.on_step,
            message_callback=self.on_message,
            status_callback=self.on_status,
            compression_callback=self.on_compression,
            ask_callback=ask,
            plan_callback=self.on_plan,
            mode_callback=on_mode,
        )

    def record(self, event: SessionEvent, *, shown: bool = False) -> bool:
        """Take an event down that the editor shows by itself; False, and nothing happens, where the turn is over.

        Args:
            shown: it is to be shown, too, in its place among the turn's.
        """
        with self._lock:
            is_taken = self._journal.record(event)
            if is_taken and shown:
                self._outbox.put(event)
            return is_taken

    def note_steering(self, text: str) -> None:
        """The person has said something to the running turn; the editor shows it by itself."""
        with self._lock:
            self._steered += 1
            self._journal.record(UserSaid(f"{self.turn_id}-steering-{self._steered}", (SaidText(text),)))

    def on_text(self, text: str) -> None:
        """More of the answer."""
        self._put(AgentText(self._message_id(), text))

    def on_thought(self, text: str) -> None:
        """More of the model's reasoning, unless the person does not want to see it."""
        if self._shows_thoughts():
            self._put(AgentThought(self._message_id("thought"), text))

    def on_note(self, text: str) -> None:
        """A note of the agent's own."""
        self._put(AgentThought(self._message_id("note"), f"{text}\n"))

    def on_status(self, status: Status) -> None:
        """A notice about the turn."""
        if status.kind == "retry":
            self.on_note(status.text)
        elif status.kind in _NOTICES:
            self.on_notice(status.text, _NOTICES[status.kind])
        else:  # it says why the turn has no other answer
            self._put(AgentText(self._message_id("status"), status.text))

    def on_step(self, step: Step) -> None:
        """A model request is over: show how full its window is, a usual one where it is not known."""
        prompt = step.usage.input_tokens or step.estimated
        if prompt:
            used = prompt + (step.usage.output_tokens or 0)
            self._put(ContextUsed(used, step.context_length or max(USUAL_WINDOW, used), step.session_cost))

    def on_compression(self, step: CompressionStep) -> None:
        """The conversation is being compressed, or was: show it, and then how full the window is."""

        def show() -> SessionEvent:
            running = self._compressing
            if running is None:
                self._compressions += 1
            event = compaction_event(
                running.id if running else f"{self.turn_id}-compaction-{self._compressions}", step
            )
            self._compressing = event if step.state == "running" else None
            return event

        self._put(show)
        if step.made is not None and step.window:
            self._put(ContextUsed(step.made.tokens_after, step.window, step.session_cost))

    def on_question(self, text: str) -> None:
        """Show a question to the person, whose next prompt is the answer."""
        self._put(AgentText(self._message_id("question"), text))

    def on_notice(self, text: str, severity: Severity = "info") -> None:
        """Tell the person something beside the answer."""

        def notice() -> SessionEvent:
            self._notices += 1
            return Noticed(f"{self.turn_id}-notice-{self._notices}", text, severity)

        self._put(notice)

    def on_message(self, message: Message) -> None:
        """A message is complete: the next text belongs to another."""
        if message["role"] == "assistant" and not message.get("unfinished"):
            self._message += 1

    def on_plan(self, items: tuple[TodoItem, ...]) -> None:
        """The plan changed."""
        self._put(PlanChanged(items))

    def on_tool_begun(self, call_id: str, name: str) -> None:
        """The model begins a tool call."""
        if self._hold is None:
            self._put(lambda: self._announced(call_id, name))
        else:
            held = self._held[call_id] = HeldCall(name)
            held.forget = self._hold(lambda: self._show_held(call_id))

    def on_tool_arguments(self, call_id: str, text: str) -> None:
        """The model has written more of a call's arguments."""
        held = self._held.get(call_id)
        if held is not None and held.is_named_by(text):
            self._show_held(call_id)

    def on_tool(self, progress: ToolProgress) -> None:
        """A tool call goes on."""
        self._put(lambda: self._progress(progress))

    def on_terminal(self, call_id: str, terminal_id: str) -> None:
        """A tool call's command runs in a terminal of the editor's."""

        def show() -> SessionEvent | None:
            card = self._cards.get(call_id)
            if card is None:
                return None
            card.in_terminal = True
            return TerminalShown(call_id, terminal_id)

        self._put(show)

    def close(self) -> None:
        """The turn is over for the editor: make its cards final and drop what comes later."""
        with self._lock:
            self._closed = True
            last: list[SessionEvent] = []
            if self._compressing is not None:
                last.append(replace(self._compressing, state="cancelled"))
            held, self._held = self._held, {}
            for call in held.values():
                call.forget()
            cards, self._cards = self._cards, {}
            for call_id, card in cards.items():
                result = with_tail(ToolResult(INTERRUPTED_RESULT, failed=True), card.tail)
                last.append(
                    ToolFinished(
                        call_id, card.name, card.arguments, card.cwd, result, card.runs, card.in_terminal, card.by
                    )
                )
            for event in last:
                self._journal.record(event)
                self._outbox.put(event)

    def _announced(self, call_id: str, name: str, arguments: Mapping[str, object] | None = None) -> SessionEvent:
        self._cards[call_id] = _Card(name, cwd=self._cwd)
        return ToolAnnounced(call_id, name, self._cwd, arguments=arguments or {})

    def _show_held(self, call_id: str) -> None:
        def show() -> SessionEvent | None:
            held = self._held.pop(call_id, None)
            if held is None:
                return None
            held.forget()
            return self._announced(call_id, held.name, held.arguments)

        self._put(show)

    def _progress(self, progress: ToolProgress) -> SessionEvent | None:
        call_id = progress.call_id
        card = self._cards.get(call_id)
        match progress:
            case CallRequested(name=name, arguments=arguments, parent=parent, by=by, cwd=cwd):
                if (held := self._held.pop(call_id, None)) is not None:
                    held.forget()
                self._cards[call_id] = _Card(name, dict(arguments), by=by, cwd=cwd or self._cwd)
                return ToolRequested(call_id, name, arguments, cwd or self._cwd, card is not None, parent, by)
            case _ if card is None:
                if isinstance(progress, CallFinished) and (held := self._held.pop(call_id, None)) is not None:
                    held.forget()  # the model has not written it to its end: nobody has seen anything of it
                return None
            case CallRunning():
                card.runs = True
                return ToolRunning(call_id, card.name, card.arguments, card.cwd, card.by)
            case CallOutput(text=text):
                return self._output(call_id, card, text)
            case CallFinished(name=name, arguments=arguments, result=result, ran=ran):
                del self._cards[call_id]
                result = with_tail(result, card.tail)
                return ToolFinished(call_id, name, arguments, card.cwd, result, ran, card.in_terminal, card.by)

    def _output(self, call_id: str, card: _Card, text: str) -> SessionEvent | None:
        card.tail = tail_of(card.tail + text)
        event = ToolOutput(call_id, text, card.tail, card.name, card.arguments)
        now = time.monotonic()
        # What no terminal takes is a picture of the last lines each time.
        pause = self._output_pause if look_of(card.name).result == "terminal" else self._picture_pause
        if card.in_terminal or now - card.shown_at < pause:
            # Another client, or this one's terminal the next time, may be shown all of it.
            self._journal.record(event)
            return None
        card.shown_at = now
        return event

    def _message_id(self, kind: str = "message") -> str:
        return f"{self.turn_id}-{kind}-{self._message}"

    def _put(self, event: SessionEvent | Callable[[], SessionEvent | None]) -> None:
        """Show and take down an event, or the one that is made. All happens under the lock, so that `close` comes
        wholly before or after it.
        """
        self._outbox.wait_for_space(self._token)
        with self._lock:
            made = None if self._closed else event() if callable(event) else event
            if made is not None:
                self._journal.record(made)
                self._outbox.put(made)
