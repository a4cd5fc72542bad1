"""What a handler may use: `ToolContext`, the ports it reaches the world through, and the agent's services.

`agent_core` and `acp_adapter` implement these Protocols; nothing in `tools` imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

from tools.errors import ToolError
from tools.files.searching import SearchQuery, SearchResult
from tools.light_dataclass import dataclass
from tools.paths import absolute
from tools.recall import SessionRecall
from tools.result import ChangedFile, ResultImage, SavedOutput, ToolResult
from tools.settings import ToolSettings

if TYPE_CHECKING:  # these modules need the ports below
    from tools.approval.plan import PlanAnswer
    from tools.asking import PersonAnswer, PersonPage, PersonQuestion
    from tools.browser.port import BrowserPort
    from tools.calling.hooks import SessionCallHooks
    from tools.delegation_port import Delegation
    from tools.diagnostics.port import Diagnostics
    from tools.environments.sandbox.port import Confinement
    from tools.files.seen import FilesSeen
    from tools.mcp_port import McpTools
    from tools.memory_port import Memory
    from tools.programs.port import Programs
    from tools.shell.processes import Processes
    from tools.skills.port import Skills
    from tools.web.port import Web


class Interrupt(Protocol):
    """The cancel signal of the turn that a tool call belongs to."""

    def is_set(self) -> bool:
        """True once the turn was cancelled or is over."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` once at the cancel (at once if it has happened); returns a function that forgets it."""
        ...

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Sleep until `predicate` holds (True), or the turn is cancelled or `timeout` seconds passed (False)."""
        ...

    def notify(self) -> None:
        """Make sleepers look at their predicate again."""
        ...


@dataclass(frozen=True, slots=True)
class FileStat:
    """Facts of one path. `kind` follows symbolic links; `mtime_ns` is nanoseconds since the epoch."""

    kind: Literal["file", "directory", "other"]
    size: int
    mtime_ns: int
    mode: int


class FileSystem(Protocol):
    """Where files live. Paths are absolute. Each call that has an effect or reveals content asks the policy."""

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, None when nothing is there."""
        ...

    def open(self, path: Path) -> BinaryIO:
        """Open a regular file for reading.

        Raises:
            FileMissing, FileRefused, FileAccessError, Denied.
        """
        ...

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`, but what is on disk, past an editor's unsaved text: for who reads very many files."""
        ...

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected` (None: of nothing), atomically; parents are created.

        Returns:
            what is in the file now: `data`, unless an editor that writes for us saves it otherwise.

        Raises:
            FileChanged: the content now is not `expected`. FileRefused, FileAccessError, Denied.
        """
        ...

    def remarks(self) -> tuple[str, ...]:
        """What a person and the model should know of how the writes so far came about; none where all is as usual."""
        ...

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        ...

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file whose content is `expected`."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is."""
        ...

    def search(self, query: SearchQuery) -> SearchResult:
        """Search file names or content below a path."""
        ...


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A shell command to run. `timeout` in seconds; `env` is added to the environment's own.

    `call_id` is the tool call that runs it, '' outside one; the gate fills it in. `save_to` is the file for output
    that is too long to keep or to show, None for none. `confinement` is what it may do; None: whatever the user may.
    With `outside` the person is asked to let it run so. `waited` tells how many seconds of its time went by while the
    person was asked about a host; they do not count. With `once` it is never run a second time. `most_chars` of its
    output are kept; as many as the environment's settings say, where it is None. `only_looks`: nobody was asked,
    because it was proved to change nothing; the gate fills it in.
    """

    command: str
    cwd: Path
    timeout: float
    env: Mapping[str, str] | None = None
    call_id: str = ""
    save_to: Path | None = None
    confinement: Confinement | None = None
    outside: bool = False
    waited: Callable[[], float] = field(default=lambda: 0.0, compare=False)
    once: bool = False
    most_chars: int | None = None
    only_looks: bool = False


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended. `output` is stdout and stderr together, head and tail kept where it was too long.

    Attributes:
        exit_code: the shell's status, None when a signal ended it.
        signal: the signal's name, as SIGKILL.
        truncated_chars: how many characters of the middle were left out of `output`.
        saved: the file with all of it, where it was long.
        refused: what its confinement kept it from, '' for nothing.
        put_back: files that it changed behind everybody's back, and that are what they were again.
        unreached: hosts that its confinement kept it from, each with the reason.
        changed: files that it was seen to change, where somebody looked.
        kept_in: why it must not run again without its confinement, for the model; '' where that may be asked for.
        only_read: it ran in plan mode and may have wanted more than to read, which nothing lets it do there.
    """

    output: str
    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    interrupted: bool = False
    truncated_chars: int = 0
    duration: float = 0.0
    saved: SavedOutput | None = None
    refused: str = ""
    put_back: tuple[Path, ...] = ()
    unreached: tuple[str, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    only_read: bool = False
    kept_in: str = ""


class Environment(Protocol):
    """Where commands run."""

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run to the end, the time-out or the cancel; `on_output` sees text as it comes.

        Raises:
            CommandError: it could not be started. Denied: the policy said no.
        """
        ...

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        ...

    def close(self) -> None:
        """End every process that is still alive from earlier commands."""
        ...


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


def require_context(kwargs: Mapping[str, Any]) -> ToolContext:
    """The `ctx` that dispatch passes to a handler.

    Raises:
        ToolError: the handler was called without one.
    """
    ctx = kwargs.get("ctx")
    if not isinstance(ctx, ToolContext):
        raise ToolError("This tool needs a running session (it was called without a tool context).")
    return ctx
