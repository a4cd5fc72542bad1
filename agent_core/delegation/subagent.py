"""One sub-agent: how it is made from what its parent has, how it works, and what it reports."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent_core.background_tasks import TaskState
from agent_core.callbacks import (
    AgentCallbacks,
    CallFinished,
    CallOutput,
    CallRequested,
    CallRunning,
    Step,
    ToolProgress,
)
from agent_core.cancel import CancelToken
from agent_core.compaction.compactor import with_engine
from agent_core.delegation.settings import DelegationSettings
from agent_core.errors import HermesError
from agent_core.messages import Content, Message
from agent_core.prompt.layers import session_prompt
from agent_core.services import SessionServices
from agent_core.sessions.store import SessionStore
from agent_core.workspace import CallIdentity, Workspace
from tools.approval.questions import Approver
from tools.context import AgentReport, AgentStatus, AgentTask, ToolContext
from tools.environments.output import save_text
from tools.errors import ToolError
from tools.files.seen import FilesSeen
from tools.light_dataclass import dataclass
from tools.registry import Toolbox
from tools.result import ShownDiff
from tools.shell.session import ShellMemory
from tools.toolsets import select, wrong_names

if TYPE_CHECKING:
    from agent_core.loop import Target, TurnLoop
    from agent_core.prompt.layers import PromptSettings
    from agent_core.providers.base import Usage
    from agent_core.turn import ConversationResult


# How it is made: from what its parent has, never more.

PLATFORM = "sub-agent"
_NEVER = ("clarify", "memory", "exit_plan_mode")
"""Tools of the session's own agent: it alone talks with the person, and remembers."""


class Agent(Protocol):
    """What a sub-agent's work needs of an `AIAgent`."""

    def run_conversation(
        self, user_message: Content | None, *, token: CancelToken | None, callbacks: AgentCallbacks | None
    ) -> ConversationResult:
        """Run one turn."""
        ...

    def abandon(self) -> None:
        """Give the running turn up, for good."""
        ...


@dataclass(frozen=True, slots=True)
class Parent:
    """An agent that has sub-agents.

    Attributes:
        new_agent: the class of agents, which itself has sub-agents and is not known here.
        loop: its loop, which knows what it has and what it was told of.
    """

    new_agent: Callable[..., Agent]
    loop: TurnLoop
    store: SessionStore
    prompt: PromptSettings


@dataclass(frozen=True, slots=True)
class Plan:
    """A task that can be begun: which tools and models it has.

    Attributes:
        workspace: where it works; None for its parent's.
    """

    task: AgentTask
    toolsets: tuple[str, ...]
    disabled: tuple[str, ...]
    target: Target
    settings: DelegationSettings
    workspace: Workspace | None = None


def planned(task: AgentTask, parent: Parent, settings: DelegationSettings) -> Plan:
    """What a task gets, looked at before any task begins.

    Raises:
        ToolError: it names toolsets or a model that it cannot have.
    """
    loop, limits = parent.loop, settings.limits
    below = settings.below()
    is_leaf = task.role == "leaf" or not limits.orchestrators
    toolbox = _own_tools(loop.services, loop.workspace)
    disabled = (*loop.disabled, *_NEVER, *(("delegate_task",) if is_leaf else below.missing_tools()))
    wanted = task.toolsets or settings.part.toolsets or None
    toolsets = loop.toolsets if wanted is None else _narrower(wanted, loop, toolbox)
    return Plan(task, toolsets, disabled, _target(task, parent, settings), below)


def _narrower(wanted: tuple[str, ...], loop: TurnLoop, toolbox: Toolbox) -> tuple[str, ...]:
    """The names of the tools of `wanted` that its parent has."""
    if wrong := wrong_names(wanted, toolbox):
        raise ToolError(f"{' '.join(wrong)} No sub-agent was begun.")
    chosen = {entry.name for entry in select(wanted, loop.disabled, toolbox)} & loop.tool_names()
    if not chosen:
        raise ToolError(
            f"You have no tools of {', '.join(wanted)}, so a sub-agent has none of them either. "
            "Name others, or leave toolsets out."
        )
    return tuple(sorted(chosen))


def _target(task: AgentTask, parent: Parent, settings: DelegationSettings) -> Target:
    part, own = settings.part, parent.loop.aim.target
    if task.model and task.model not in settings.limits.models:
        known = ", ".join(settings.limits.models) or "none: leave it out"
        raise ToolError(f"A task may not ask for the model {task.model!r}. Models to choose from: {known}.")
    name = task.model or part.model
    if not name or settings.target_of is None:
        return replace(own, reasoning=part.reasoning_effort or own.reasoning)
    try:
        return settings.target_of(name)
    except HermesError as problem:
        raise ToolError(
            f"The model of sub-agents, {name}, cannot be used: {problem.public} Do the work yourself."
        ) from problem


def make_agent(plan: Plan, parent: Parent, agent_id: str, services: SessionServices, workspace: Workspace) -> Agent:
    """The agent of a sub-agent; its session is begun in the store."""
    loop, route = parent.loop, plan.target.route
    choice = route.members[0].choice
    parent.store.create_child(agent_id, loop.session_id, str(workspace.cwd))
    services.system = _system_prompt(plan, parent, services, workspace)
    return parent.new_agent(
        choice.model,
        route.connect(choice),
        PLATFORM,
        plan.toolsets,
        max_iterations=plan.settings.part.max_iterations,
        session_store=parent.store,
        session_id=agent_id,
        workspace=workspace,
        services=services,
        disabled_toolsets=plan.disabled,
        route=route,
        reasoning=plan.target.reasoning,
        settings=loop.settings,
        prompt=parent.prompt,
        delegation=plan.settings,
    )


def child_services(
    parent: SessionServices, agent_id: str, spent: Callable[[Usage, float | None], None]
) -> SessionServices:
    """What a sub-agent keeps: of its parent's the memory as it was frozen, its skills, and who reads for it.

    Args:
        spent: is told what its requests use.
    """
    services = with_engine(SessionServices(parent.recall, parent.look), agent_id)
    services.memory = None if parent.memory is None else parent.memory.snapshot_only()
    services.skills = parent.skills
    services.by_itself, services.summarise = parent.by_itself, parent.summarise
    services.summary_window = parent.summary_window
    # An editor knows the cards of both.
    services.call_ids = parent.call_ids
    services.tasks = parent.tasks
    services.news = parent.news.below()
    services.on_spent = spent
    services.tracing = None if parent.tracing is None else parent.tracing.of_sub_agent()
    return services


def child_workspace(
    parent: Workspace,
    services: SessionServices,
    name: str,
    *,
    session_id: str,
    turn_id: str,
    approver: Approver | None = None,
) -> Workspace:
    """Where a sub-agent works: with its parent's files, commands and permissions, and a shell state of its own.

    Args:
        services: the parent's.
        name: who asks for permission, for the person.
        session_id, turn_id: the parent's: undo takes back what its sub-agents have changed.
        approver: who is asked in place of the person.
    """

    def of_parent(call: CallIdentity) -> CallIdentity:
        return CallIdentity(session_id, turn_id, call.task_id, call.call_id)

    return replace(
        parent,
        approvals=parent.approvals.for_another(name, approver=approver),
        history=lambda call: parent.history(of_parent(call)),
        output_file=lambda call: parent.output_file(of_parent(call)),
        tools=_own_tools(services, parent),
        hooks=parent.hooks.for_subagent(parent.client_cwd),
        seen=FilesSeen(),
        shell=ShellMemory(parent.cwd),
        # What they change comes back with the session's own turn.
        copied=None,
    )


def _own_tools(services: SessionServices, workspace: Workspace) -> Toolbox:
    """The session's tools without those of its memory provider: a sub-agent remembers nothing."""
    if services.memory is None or services.memory.is_read_only:
        return workspace.tools
    remembering = {entry.name for entry in services.memory.tools()}
    extra = workspace.tools.extra
    return Toolbox(lambda: [entry for entry in extra() if entry.name not in remembering])


def _system_prompt(plan: Plan, parent: Parent, services: SessionServices, workspace: Workspace) -> str:
    choice = plan.target.route.members[0].choice
    entries = select(plan.toolsets, plan.disabled, workspace.tools)
    tools = frozenset(entry.name for entry in entries)
    offered = tools | {entry.toolset for entry in entries}

    def make() -> str:
        prompt, _ = session_prompt(
            workspace,
            parent.prompt,
            choice,
            platform=PLATFORM,
            tools=tools,
            memory_block="" if services.memory is None else services.memory.block(),
            skills_index=services.skills.index(offered) if services.skills and "skill_view" in tools else "",
        )
        return prompt.text

    return workspace.children.prompts.get((workspace.cwd, choice.name, tools), make)


# Its signs of life, what it has called, used and changed, and whether it rests.

_LAST_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Silence:
    """How long nothing was heard of a sub-agent. `tool` is the tool that runs, '' where its model is awaited."""

    seconds: float
    tool: str = ""


class Watch:
    """Follows one sub-agent. Safe to use from several threads.

    Args:
        token: ends the sub-agent's work, and with it every rest.
        clock: monotonic seconds.
    """

    def __init__(self, token: CancelToken, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = token
        self._clock = clock
        self._lock = threading.Lock()
        self._heard = self.began = clock()
        self._calls: dict[str, str] = {}
        self._paused = False
        self.calls: Counter[str] = Counter()
        self.files: dict[Path, None] = {}
        self.requests = self.tokens = 0
        self.cost: float | None = 0.0
        self.words = ""
        self.has_seen_strangers = False

    @property
    def seconds(self) -> float:
        """How long it has worked."""
        return self._clock() - self.began

    @property
    def is_paused(self) -> bool:
        """Whether it rests, or will before its next step."""
        return self._paused

    def begin(self) -> None:
        """It begins now."""
        self.began = self._clock()
        self.beat()

    def beat(self) -> None:
        """It gave a sign of life."""
        self._heard = self._clock()

    def heard(self, text: str) -> None:
        """It says something."""
        self.beat()
        self.words = (self.words + text)[-_LAST_WORDS:]

    def step(self, step: Step) -> None:
        """One of its model requests is over."""
        self.beat()
        with self._lock:
            self.requests += 1
            self.tokens += (step.usage.input_tokens or 0) + (step.usage.output_tokens or 0)
            self.cost = None if self.cost is None or step.cost is None else self.cost + step.cost

    def follow(self, progress: ToolProgress) -> None:
        """A tool call goes on: its own, or one of its sub-agents'."""
        self.beat()
        match progress:
            case CallRequested(call_id=call_id, name=name, parent=parent):
                with self._lock:
                    self._calls[call_id] = name
                    if not parent:
                        self.calls[name] += 1
            case CallFinished(call_id=call_id, result=result):
                with self._lock:
                    self._calls.pop(call_id, None)
                    self.has_seen_strangers |= result.has_fenced
                    self.files.update(
                        (shown.path, None)
                        for shown in result.shown
                        if isinstance(shown, ShownDiff) and not result.failed and shown.before != shown.after
                    )
            case CallRunning() | CallOutput():
                return

    def open_calls(self) -> tuple[str, ...]:
        """The ids of the calls that are not over."""
        with self._lock:
            return tuple(self._calls)

    def silence(self) -> Silence:
        """How long nothing was heard of it."""
        with self._lock:
            tool = next(iter(self._calls.values()), "")
        return Silence(self._clock() - self._heard, tool)

    def pause(self) -> None:
        """Let it rest before its next step."""
        self._paused = True

    def resume(self) -> None:
        """Let it go on."""
        self._paused = False
        self.beat()
        self._token.notify()

    def rest(self) -> None:
        """Wait while it is to rest; called by the sub-agent's own threads."""
        if self._paused:
            self._token.wait_for(lambda: not self._paused)
            self.beat()


# At work: its turn on a thread of its own, and what came of it.

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
    make: Callable[[], Agent]
    parent_call: str
    ears: Ears = field(default_factory=Ears)
    directory: str = ""
    doing: Callable[[str], None] = lambda _: None
    on_end: Callable[[Child], None] = lambda _: None
    report: AgentReport | None = None
    ended_by: tuple[AgentStatus, str] | None = None
    stopped_at: float | None = None
    agent: Agent | None = None
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


# What sub-agents say while they work, as live output of the call that has them work: whole lines, and not all.

_PAUSE = 0.3
_LONGEST_LINE = 300
_MOST_CHARS = 20_000
_ENOUGH = "[… more is in its transcript …]"


class LiveText:
    """Lines of several sub-agents, each with who says it. Safe to use from several threads.

    Args:
        show: shows text on the card.
        pause: seconds between two showings; what comes meanwhile is shown together.
        clock: monotonic seconds.
    """

    def __init__(
        self, show: Callable[[str], None], pause: float = _PAUSE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, str] = {}
        self._shown: dict[str, int] = {}
        self._waiting: list[str] = []
        self._next = 0.0

    def say(self, who: str, text: str) -> None:
        """More of what somebody says; only whole lines are shown."""
        with self._lock:
            *lines, rest = (self._open.get(who, "") + text).split("\n")
            # Of a line without end only its beginning is ever shown.
            self._open[who] = rest[: _LONGEST_LINE + 1]
            self._add(who, lines)
            self._flush(self._clock() >= self._next)

    def end(self, who: str, word: str = "") -> None:
        """Somebody's message is over; `word` is a last line of ours."""
        with self._lock:
            self._add(who, [self._open.pop(who, "")])
            if word:
                self._waiting.append(f"{who}: [{word}]\n")
            self._flush(bool(word) or self._clock() >= self._next)

    def close(self) -> None:
        """Show what waits."""
        with self._lock:
            self._flush(True)

    def _add(self, who: str, lines: list[str]) -> None:
        for line in filter(str.strip, lines):
            shown = self._shown.get(who, 0)
            if shown > _MOST_CHARS:
                return
            short = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
            self._shown[who] = shown + len(short)
            self._waiting.append(f"{who}: {short}\n")
            if self._shown[who] > _MOST_CHARS:
                self._waiting.append(f"{who}: {_ENOUGH}\n")

    def _flush(self, is_due: bool) -> None:
        if is_due and self._waiting:
            text, self._waiting = "".join(self._waiting), []
            self._next = self._clock() + self._pause
            self._show(text)


# What a parent's model is told of its sub-agents: no more than its share, with all of it in a file.

_LONGEST = 24_000
_LEAST = 1_000
_SHARE = 0.8
"""Of the room for one result, what the reports may take together: the rest is for what stands around them."""

_HEAD = 0.7

FileOf = Callable[[str], Path | None]


def bounded(report: AgentReport, reports: int, call: ToolContext, file_of: FileOf) -> AgentReport:
    """The report with as much of its summary as its share of the room allows.

    Args:
        reports: how many share the room of one result.
        file_of: where all of a summary may be saved, by the sub-agent's id.
    """
    room = min(_LONGEST, max(_LEAST, int(call.settings.max_result_chars * _SHARE) // reports))
    text = report.summary
    if len(text) <= room:
        return report
    file = file_of(report.agent)
    saved = None if file is None else save_text(text, file)
    head, tail = text[: int(room * _HEAD)], text[-int(room * (1 - _HEAD)) :]
    left_out = len(text) - len(head) - len(tail)
    where = "" if saved is None else f"; all of it is in {saved.path}"
    cut = f"{head}\n[… {left_out} characters left out here{where} …]\n{tail}"
    return replace(report, summary=cut, full=None if saved is None else saved.path)
