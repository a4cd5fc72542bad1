"""From the agent's callbacks to session events: one bridge for each turn, used by the turn's worker threads."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Literal

from acp_adapter.cards.first_titles import HeldCall, Hold
from acp_adapter.cards.looks import look_of
from acp_adapter.outbox import Outbox
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
from agent_core.calls.live_output import tail_of, with_tail
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SessionEvent,
    TerminalShown,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
    UserSaid,
)
from agent_core.interrupt import CancelToken
from agent_core.messages import INTERRUPTED_RESULT, Message
from agent_core.prompt_parts import SaidText
from agent_core.providers.choice import USUAL_WINDOW
from agent_core.sessions.store import Journal
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.result import ToolResult

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
        journal: Journal,
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

    def callbacks(self, ask: Ask | None = None, on_mode: Callable[[str], None] | None = None) -> AgentCallbacks:
        """The listeners to give to the agent for this turn.

        Args:
            ask: puts a question to the person.
            on_mode: is told of a mode that the agent changed.
        """
        return AgentCallbacks(
            stream_delta_callback=self.on_text,
            reasoning_callback=self.on_thought,
            thinking_callback=self.on_note,
            tool_gen_callback=self.on_tool_begun,
            tool_args_callback=None if self._hold is None else self.on_tool_arguments,
            tool_progress_callback=self.on_tool,
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

        self._tell(show)
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

        self._tell(notice)

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
            self._tell(lambda: self._announced(call_id, name))
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
        self._tell(lambda: self._progress(progress))

    def on_terminal(self, call_id: str, terminal_id: str) -> None:
        """A tool call's command runs in a terminal of the editor's."""

        def show() -> SessionEvent | None:
            card = self._cards.get(call_id)
            if card is None:
                return None
            card.in_terminal = True
            return TerminalShown(call_id, terminal_id)

        self._tell(show)

    def close(self) -> None:
        """The turn is over for the editor: make its cards final and drop what comes later."""
        with self._lock:
            self._closed = True
            if self._compressing is not None:
                self._show(replace(self._compressing, state="cancelled"))
            held, self._held = self._held, {}
            for call in held.values():
                call.forget()
            cards, self._cards = self._cards, {}
            for call_id, card in cards.items():
                result = with_tail(ToolResult(INTERRUPTED_RESULT, failed=True), card.tail)
                self._show(self._finished(call_id, card, result))

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

        self._tell(show)

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

    def _finished(self, call_id: str, card: _Card, result: ToolResult) -> ToolFinished:
        return ToolFinished(
            call_id, card.name, card.arguments, card.cwd, result, card.runs, card.in_terminal, card.by
        )

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

    def _put(self, event: SessionEvent) -> None:
        self._tell(lambda: event)

    def _tell(self, make: Callable[[], SessionEvent | None]) -> None:
        """Add what `make` gives. Both happen under the lock, so that `close` comes wholly before or after them."""
        self._outbox.wait_for_space(self._token)
        with self._lock:
            if not self._closed and (event := make()) is not None:
                self._show(event)

    def _show(self, event: SessionEvent) -> None:
        self._journal.record(event)
        self._outbox.put(event)
