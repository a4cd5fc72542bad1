"""What a handler may use: `ToolContext`, the agent's services, and what a session's hooks say about a call.

`agent_core` and `acp_adapter` implement these Protocols; nothing in `tools` imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.paths import absolute
from tools.ports import Environment, FileSystem, Interrupt
from tools.recall import SessionRecall
from tools.result import ResultImage, ToolResult
from tools.settings import ToolSettings

if TYPE_CHECKING:  # they come with what the session has
    from tools.approval.plan import PlanAnswer
    from tools.asking import PersonAnswer, PersonPage, PersonQuestion
    from tools.browser.port import BrowserPort
    from tools.delegation_port import Delegation
    from tools.diagnostics.port import Diagnostics
    from tools.files.seen import FilesSeen
    from tools.mcp_port import McpTools
    from tools.memory_port import Memory
    from tools.programs.port import Programs
    from tools.shell.processes import Processes
    from tools.skills.port import Skills
    from tools.web.port import Web


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
class ToolContext:
    """Everything one tool call may use; made anew for each call.

    Attributes:
        roots: the session's directories, `cwd` first.
        progress: shows live text on the call's card.
        agent: None when the tool is used without an agent.
        mcp: the session's MCP servers; None where there are none.
        output_file: where the call may save what is too long to show; None where nothing is saved.
        seen: what the session's model has read, by path.
        diagnostics: finds what an edit broke.
        processes: the session's background processes.
        programs: runs programs that call tools, behind the gate.
        web: HTTP, behind the gate.
        browser: a browser of the session.
        memory: what is remembered over sessions, behind the gate.
        cache: a directory of ours for what can be computed anew.
        images: the model that is asked sees images, so results may hold them.
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
    mcp: McpTools | None = None
    output_file: Path | None = None
    seen: FilesSeen | None = None
    diagnostics: Diagnostics | None = None
    processes: Processes | None = None
    programs: Programs | None = None
    web: Web | None = None
    browser: BrowserPort | None = None
    memory: Memory | None = None
    cache: Path | None = None
    images: bool = False
    home: Callable[[], Path] | None = None
    elsewhere: str = ""
    ask_own: Callable[[str], object] = lambda _name: None
    confirm: Callable[[str, str], object] = lambda _name, _why: None
    hooks: SessionCallHooks | None = None

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
