"""What a handler may use: `ToolContext`, the agent's services, sub-agents, and a session's hooks around calls.

`agent_core` and `acp_adapter` implement these Protocols; nothing in `tools` imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tools.agent_ports import McpTools, PersonAnswer, PersonPage, PersonQuestion, SessionRecall, Skills
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.os_compat import absolute
from tools.ports import Diagnostics, Environment, FileSystem, Interrupt, Programs, Web
from tools.result import ResultImage, ShownDiff, ToolResult
from tools.settings import ToolSettings
from tools.untrusted.fence import fenced

if TYPE_CHECKING:
    from tools.approval.approvals import PlanAnswer
    from tools.browser.port import BrowserPort
    from tools.files.seen import FilesSeen
    from tools.memory_port import Memory
    from tools.shell.session import Processes


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One step of the plan."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"]
    priority: Literal["high", "medium", "low"] = "medium"


class AgentServices(Protocol):
    """What lives in the agent and outlasts a tool call."""

    def todos(self) -> Sequence[TodoItem]:
        """The plan as it stands."""
        ...

    def set_todos(self, items: Sequence[TodoItem]) -> None:
        """Replace the plan and show it."""
        ...

    def recall(self) -> SessionRecall | None:
        """Who searches earlier sessions; None where none are stored."""
        ...

    def memory(self) -> Memory | None:
        """What is remembered over sessions, with no gate before it (the context's has one); None where nothing is."""
        ...

    def skills(self) -> Skills | None:
        """The session's skills; None where it has none."""
        ...

    def delegation(self) -> Delegation | None:
        """Who has sub-agents do work; None where there are none."""
        ...

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        """Put a question to the person and wait for the answer."""
        ...

    def look(self, image: ResultImage, question: str, interrupt: Interrupt) -> str:
        """What a model that sees answers to a question about an image.

        Raises:
            ToolError: there is none, or none answered. ToolInterrupted: the turn is over.
        """
        ...

    def offered_tools(self) -> frozenset[str]:
        """The names of the tools that the model is told of."""
        ...

    def call_tool(self, name: str, arguments: Mapping[str, Any], parent: str, interrupt: Interrupt) -> ToolResult:
        """Call one of them for `parent`, the id of a call that runs: under the same rules, with a card of its own.

        Those that cannot run beside each other wait for each other. Safe to use from several threads.

        Args:
            interrupt: ends the call.

        Returns:
            the result as a program wants it: nothing that only a model needs is added to it.

        Raises:
            ToolInterrupted: the turn, or what `interrupt` stands for, is over.
        """
        ...

    def leave_plan(self, plan: str, tool_call_id: str, interrupt: Interrupt) -> PlanAnswer:
        """Show the plan to the person; on a yes the session goes on in the mode that they chose."""
        ...


@dataclass(frozen=True, slots=True)
class LatePorts:
    """Ports that few calls take: each is put behind the gate when the call takes it; None where there is none."""

    mcp: Callable[[], McpTools | None] = lambda: None
    programs: Callable[[], Programs | None] = lambda: None
    web: Callable[[], Web | None] = lambda: None
    browser: Callable[[], BrowserPort | None] = lambda: None
    memory: Callable[[], Memory | None] = lambda: None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Everything one tool call may use; made anew for each call.

    Attributes:
        roots: the session's directories, `cwd` first.
        progress: shows live text on the call's card.
        agent: None when the tool is used without an agent.
        output_file: where the call may save what is too long to show; None where nothing is saved.
        seen: what the session's model has read, by path.
        diagnostics: finds what an edit broke.
        processes: the session's background processes.
        late: the ports that the properties below give.
        cache: a directory of ours for what can be computed anew.
        images: tells whether the model that is asked sees images, so that results may hold them.
        home: tells what `~` means; this machine's user's when None.
        elsewhere: the machine that the session works on, as people call it; '' for this one.
        ask_own: asks whether a tool of the user's own may run, whose effects pass no gate; raises `Denied`.
        confirm: asks the person, whatever the mode, whether the call of a tool may go on, and tells them why it is
            asked; raises `Denied`.
        hooks: what the session's hooks have to say about the call; None for nothing.
    """

    task_id: str
    session_id: str
    tool_call_id: str
    cwd: Path
    roots: tuple[Path, ...]
    fs: FileSystem
    terminal: Environment
    interrupt: Interrupt
    progress: Callable[[str], None]
    settings: ToolSettings
    agent: AgentServices | None = None
    output_file: Path | None = None
    seen: FilesSeen | None = None
    diagnostics: Diagnostics | None = None
    processes: Processes | None = None
    late: LatePorts = LatePorts()
    cache: Path | None = None
    images: Callable[[], bool] = lambda: False
    home: Callable[[], Path] | None = None
    elsewhere: str = ""
    ask_own: Callable[[str], object] = lambda _name: None
    confirm: Callable[[str, str], object] = lambda _name, _why: None
    hooks: SessionCallHooks | None = None

    @property
    def mcp(self) -> McpTools | None:
        """The session's MCP servers."""
        return self.late.mcp()

    @property
    def programs(self) -> Programs | None:
        """Runs programs that call tools."""
        return self.late.programs()

    @property
    def web(self) -> Web | None:
        """HTTP."""
        return self.late.web()

    @property
    def browser(self) -> BrowserPort | None:
        """A browser of the session."""
        return self.late.browser()

    @property
    def memory(self) -> Memory | None:
        """What is remembered over sessions."""
        return self.late.memory()

    def resolve(self, path: str) -> Path:
        """The absolute path that a model's `path` means, relative ones from `cwd`."""
        # The home of another machine is asked for, so only where it is needed.
        home = self.home() if self.home is not None and path.startswith("~") else None
        return Path(absolute(path, self.cwd, home))


class SessionCallHooks(Protocol):
    """The hooks of one session around its tool calls."""

    def before(self, name: str, arguments: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        """The arguments as the hooks leave them: the same object where none changed them.

        Raises:
            CallRefused, Denied: the call must not be made.
        """
        ...

    def after(
        self, name: str, arguments: Mapping[str, Any], result: ToolResult, ctx: ToolContext, seconds: float
    ) -> ToolResult:
        """The result as the hooks leave it, of a call that took so many seconds."""
        ...

    def over(self, call_id: str) -> None:
        """The call has ended, in whatever way."""
        ...


class CallRefused(Exception):
    """A hook does not let the call go on; the text is for the model."""


def require_context(kwargs: Mapping[str, Any]) -> ToolContext:
    """The `ctx` that dispatch passes to a handler.

    Raises:
        ToolError: the handler was called without one.
    """
    ctx = kwargs.get("ctx")
    if not isinstance(ctx, ToolContext):
        raise ToolError("This tool needs a running session (it was called without a tool context).")
    return ctx


# Sub-agents, as the tool `delegate_task` reaches them.

AgentRole = Literal["leaf", "orchestrator"]
"""A leaf does the work itself; an orchestrator may have sub-agents of its own."""

AgentStatus = Literal["done", "failed", "out_of_budget", "stopped", "stale", "interrupted"]
"""`stopped`: the person ended it; `stale`: it gave no sign for too long; `interrupted`: with what it worked for."""


@dataclass(frozen=True, slots=True)
class DelegationLimits:
    """How much may be delegated, as the model is told.

    Attributes:
        at_once: sub-agents that work at the same time; more wait in line.
        orchestrators: sub-agents may have sub-agents.
        background: work may go on behind the conversation.
        models: other models that a task may ask for.
    """

    at_once: int = 3
    orchestrators: bool = False
    background: bool = True
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What one sub-agent shall do.

    Attributes:
        context: what it has to know beside the goal; it sees nothing else of the conversation.
        toolsets: names of toolsets or tools, of those that its parent has; None for all of them.
        model: as provider:model; '' for what the settings say.
    """

    goal: str
    context: str = ""
    toolsets: tuple[str, ...] | None = None
    role: AgentRole = "leaf"
    model: str = ""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What came of one sub-agent.

    Attributes:
        agent: its id, which is its session's.
        summary: its last words, or why there are none; bounded.
        full: a file with all of its last words, where they were too long.
        files: what it has changed with its file tools; absolute.
        calls: how often it called which tool.
        tokens: input and output together.
        cost: US dollars; None where it is not known.
        patch: for work on a copy: a file with its changes, if it made any.
        brought: files of these that are changed in the session's directory now.
        kept: why what it changed is not (all) there, and the copy that was kept for that; '' where nothing is open.
        diffs: what it changed in a copy, as text.
        untrusted: it has seen what strangers wrote, and what it says may be theirs.
    """

    agent: str
    goal: str
    status: AgentStatus
    summary: str
    full: Path | None = None
    files: tuple[Path, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    requests: int = 0
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    note: str = ""
    patch: Path | None = None
    brought: tuple[Path, ...] = ()
    kept: str = ""
    diffs: tuple[ShownDiff, ...] = ()
    untrusted: bool = False

    def told_summary(self, session_id: str) -> str:
        """The summary as the model gets it: in a fence where it is not to be trusted.

        Args:
            session_id: of the session whose model it is.
        """
        return fenced(self.summary, self.agent, session_id) if self.untrusted else self.summary


@dataclass(frozen=True, slots=True)
class AgentBegun:
    """A sub-agent that works in the background."""

    agent: str
    goal: str


class Delegation(Protocol):
    """Who has sub-agents do work."""

    @property
    def limits(self) -> DelegationLimits:
        """How much may be delegated here."""
        ...

    def run(self, tasks: Sequence[AgentTask], call: ToolContext, *, isolated: bool = False) -> Sequence[AgentReport]:
        """Do all tasks and wait; a report for each, in their order. What a sub-agent fails at is in its report.

        Args:
            call: of the tool call that delegates; its card shows what goes on.
            isolated: each works on a copy of its own; what it changes is brought back as edits of `call`.

        Raises:
            ToolError: a task cannot be begun as it is; none was.
            ToolInterrupted: the turn is over; every sub-agent was told to end.
        """
        ...

    def begin(self, tasks: Sequence[AgentTask], call: ToolContext) -> Sequence[AgentBegun]:
        """Begin all tasks in the background. The session is told of each that is done.

        Raises:
            ToolError: a task cannot be begun as it is, or nothing may go on in the background here.
        """
        ...


_USUAL = DelegationLimits()
_TOLD: ContextVar[DelegationLimits] = ContextVar("delegation_limits", default=_USUAL)


def told_limits() -> DelegationLimits:
    """The limits of the session whose tools are being described."""
    return _TOLD.get()


@contextmanager
def describing(limits: DelegationLimits) -> Iterator[None]:
    """What is told of tools inside the block is of a session with these limits."""
    before = _TOLD.set(limits)
    try:
        yield
    finally:
        _TOLD.reset(before)


# The session's skills, for the tools that need them.


def skills_of(ctx: ToolContext) -> Skills:
    """The session's skills.

    Raises:
        ToolError: there are none here.
    """
    skills = ctx.agent.skills() if ctx.agent is not None else None
    if skills is None:
        raise ToolError("There are no skills in this session: go on without them.")
    return skills
