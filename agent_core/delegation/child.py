"""One sub-agent at work: its turn on a thread of its own, and what came of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import field, replace
from typing import TYPE_CHECKING

from agent_core.background.tasks import TaskState
from agent_core.callbacks import AgentCallbacks, CallRequested, ToolProgress
from agent_core.delegation.watch import Watch
from agent_core.errors import HermesError
from agent_core.interrupt import CancelToken
from agent_core.messages import Message
from tools.context import AgentReport, AgentStatus, AgentTask
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.agent import AIAgent
    from agent_core.turn.result import ConversationResult

log = logging.getLogger(__name__)

_STATUS: dict[str, tuple[AgentStatus, str]] = {
    "end_turn": ("done", ""),
    "max_tokens": ("done", "Its last answer reached the output limit, and is not complete."),
    "max_turn_requests": ("out_of_budget", "It used all of its model requests before it was done."),
    "refusal": ("failed", "Its model refused."),
    "cancelled": ("interrupted", "It was interrupted."),
}


_OUTCOMES: dict[AgentStatus, TaskState] = {"done": "done", "stopped": "stopped", "interrupted": "stopped"}


def outcome_of(status: AgentStatus) -> TaskState:
    """How a sub-agent's task has ended."""
    return _OUTCOMES.get(status, "failed")


@dataclass(frozen=True, slots=True)
class Ears:
    """Who is told what a sub-agent does.

    Attributes:
        progress: of its tool calls; None where nobody shows them.
        said: (who, text) of what it says; `over` that a message of it is over.
    """

    progress: Callable[[ToolProgress], None] | None = None
    said: Callable[[str, str], None] = lambda _who, _text: None
    over: Callable[[str, str], None] = lambda _who, _word: None


@dataclass(slots=True, eq=False)
class Child:
    """A sub-agent with its task.

    Attributes:
        id: its session's.
        name: for the person, as «Agent 1».
        agent: made when its turn begins.
        parent_call: the call that has it work, under whose card its own calls stand.
        directory: where relative paths of its calls start from, '' for the session's directory.
        doing: told what it does now, in a word.
        on_end: called when it is over, once it has its report.
        report: what came of it; None while it works.
    """

    id: str
    name: str
    task: AgentTask
    token: CancelToken
    make: Callable[[], AIAgent]
    parent_call: str
    ears: Ears = field(default_factory=Ears)
    directory: str = ""
    doing: Callable[[str], None] = lambda _: None
    on_end: Callable[[Child], None] = lambda _: None
    report: AgentReport | None = None
    ended_by: tuple[AgentStatus, str] | None = None
    stopped_at: float | None = None
    agent: AIAgent | None = None
    watch: Watch = field(init=False)
    _reporting: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        """Its watch ends with its token."""
        self.watch = Watch(self.token)

    @property
    def is_over(self) -> bool:
        """Whether there is a report."""
        return self.report is not None

    def start(self) -> None:
        """Begin, on a thread of its own."""
        self.watch.begin()
        self._thread = threading.Thread(target=copy_context().run, args=(self.work,), name=self.id, daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        """Wait for its thread's end, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def stop(self, status: AgentStatus, why: str) -> None:
        """End its work; nothing happens where it is over or was ended before."""
        if self.ended_by is None and not self.is_over:
            self.ended_by, self.stopped_at = (status, why), self.watch.seconds
            self.token.cancel()
            if self._thread is None:  # still in line: there is nothing that could end
                self._report(status, "", why)

    def abandon(self) -> None:
        """It does not end: go on without it. Nothing that it still does has an effect."""
        if self.agent is not None:
            self.agent.abandon()
        status, why = self.ended_by or ("interrupted", "It was interrupted.")
        self._report(status, self.watch.words.strip(), f"{why} It does not answer and was given up.")

    def work(self) -> None:
        """Do the task; blocks until it is over. Whatever happens is in the report."""
        try:
            self.agent = self.make()
            result = self.agent.run_conversation(self._prompt(), token=self.token, callbacks=self._callbacks())
            self._finish(result)
        except HermesError as problem:
            self._broke(problem.public)
        except Exception as problem:  # whatever it is, its parent goes on
            log.exception("sub-agent %s failed", self.id)
            self._broke(f"It failed: {type(problem).__name__}: {problem}")

    def _finish(self, result: ConversationResult) -> None:
        status, note = _STATUS[result["stop_reason"]]
        if status == "interrupted" and self.ended_by is not None:
            status, note = self.ended_by
        words = result["final_response"].strip() or self.watch.words.strip()
        if status == "done" and not words:
            status, note = "failed", "It ended without a word."
        self._report(status, words, note)

    def _broke(self, why: str) -> None:
        # A connection that was shut down to end it may look like one that failed.
        status, why = self.ended_by or ("failed", why)
        self._report(status, self.watch.words.strip() if self.ended_by else "", why)

    def _report(self, status: AgentStatus, summary: str, note: str) -> None:
        with self._reporting:
            if self.report is not None:
                return
            watch = self.watch
            self.report = AgentReport(
                self.id,
                self.task.goal,
                status,
                summary or note,
                files=tuple(watch.files),
                calls=dict(watch.calls),
                requests=watch.requests,
                tokens=watch.tokens,
                cost=watch.cost,
                seconds=watch.seconds,
                note=note if summary else "",
                untrusted=bool(summary) and watch.has_seen_strangers,
            )
        self.ears.over(self.name, status.replace("_", " "))
        self.on_end(self)

    def _prompt(self) -> str:
        return f"{self.task.goal}\n\nContext:\n{self.task.context}" if self.task.context else self.task.goal

    def _callbacks(self) -> AgentCallbacks:
        watch = self.watch
        return AgentCallbacks(
            stream_delta_callback=self._said,
            reasoning_callback=lambda _: watch.beat(),
            tool_gen_callback=lambda _id, _name: watch.beat(),
            tool_progress_callback=self._progress,
            step_callback=watch.step,
            message_callback=self._stored,
            status_callback=lambda _: watch.beat(),
            compression_callback=lambda _: watch.beat(),
        )

    def _said(self, text: str) -> None:
        self.watch.heard(text)
        self.ears.said(self.name, text)

    def _stored(self, message: Message) -> None:
        self.watch.beat()
        if message["role"] == "assistant":
            self.ears.over(self.name, "")
        self.watch.rest()

    def _progress(self, progress: ToolProgress) -> None:
        self.watch.follow(progress)
        if isinstance(progress, CallRequested):
            progress = replace(
                progress,
                parent=progress.parent or self.parent_call,
                by=progress.by or self.name,
                cwd=progress.cwd or self.directory,
            )
            self.doing(progress.name)
            self.watch.rest()
        if self.ears.progress is not None:
            self.ears.progress(progress)
