"""Where one session works: its directories, the ports to files and commands, its permissions, and its sub-agents."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.cancel import CancelToken
from agent_core.hooks.session_hooks import SessionHooks
from agent_core.settings.project import PermissionSettings
from tools.agent_ports import McpServers
from tools.approval.actions import Action, CallOwnTool, WritePath
from tools.approval.approvals import Approvals, Judge
from tools.approval.gate import Gate
from tools.approval.grants import Grants, KeptGrants
from tools.approval.policy import EditPolicy, Mode, Rules
from tools.approval.questions import Approver
from tools.context import AgentServices, LatePorts, ToolContext
from tools.environments.containment import Containment
from tools.environments.gated_commands import GatedEnvironment, GatedProcesses
from tools.environments.gated_ports import GatedFileSystem, GatedMcpTools, GatedMemory
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment, LocalProcesses
from tools.environments.local_files import LocalFileSystem
from tools.files.seen import FilesSeen
from tools.light_dataclass import dataclass
from tools.ports import Environment, FileHistory, FileSystem, NoHistory, Programs, Web
from tools.registry import Toolbox
from tools.settings import TerminalSettings, ToolSettings
from tools.shell.session import Processes, ShellMemory

if TYPE_CHECKING:
    from agent_core.browser.session_browser import SessionBrowser
    from agent_core.callbacks import AgentCallbacks
    from agent_core.lsp.diagnostics import LanguageServers
    from agent_core.remote.session_copy import SessionCopy
    from agent_core.skills import SessionSkills
    from tools.browser.port import BrowserPort
    from tools.environments.backends import Elsewhere


class Prompts:
    """The system prompts of a session's sub-agents: the same for all that have the same tools and model."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Hashable, str] = {}

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        """The prompt of that key, made once; whoever comes meanwhile waits."""
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            return self._known[key]


class Children:
    """Their tokens, by their ids, and what they share. Safe to use from several threads."""

    def __init__(self) -> None:
        self.prompts = Prompts()
        self._lock = threading.Lock()
        self._tokens: dict[str, CancelToken] = {}
        self._behind: set[str] = set()
        self._over = False

    def add(self, agent: str, token: CancelToken) -> None:
        """One begins; it is told to end at once where the workspace is closed already."""
        with self._lock:
            self._tokens[agent] = token
            over = self._over
        if over:
            token.cancel()

    def remove(self, agent: str) -> bool:
        """One has ended; False where it was not among them any more."""
        with self._lock:
            self._behind.discard(agent)
            return self._tokens.pop(agent, None) is not None

    def put_behind(self, agent: str) -> None:
        """One works in the background."""
        with self._lock:
            self._behind.add(agent)

    def behind(self) -> tuple[str, ...]:
        """The ids of those that work in the background."""
        with self._lock:
            return tuple(self._behind)

    def working(self) -> tuple[str, ...]:
        """The ids of those that work."""
        with self._lock:
            return tuple(self._tokens)

    def cancel(self) -> None:
        """Tell all of them to end, and those that would begin from now on."""
        with self._lock:
            self._over = True
            tokens = tuple(self._tokens.values())
        for token in tokens:
            token.cancel()


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """Which call of which turn a context is for. `parent` is the call that makes it, '' for the model itself."""

    session_id: str
    turn_id: str
    task_id: str
    call_id: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A session's surroundings. `files` and `terminal` are the bare backends: tools get them behind a gate.

    `files` makes the file system for one turn, whose token ends what takes long; `history` keeps what a call's files
    were before; `output_file` says where its output goes if it is too long to show. `programs` runs programs that
    call tools, behind a call's gate; None where files and commands are elsewhere. `mcp` reaches the session's MCP
    servers, whose tools are among `tools`; `web` puts the way to the web behind a call's gate. `seen` is what the
    model has read of files; `cache` is a directory for what can be computed anew. `containment` says how commands are
    confined. `elsewhere` is the machine that it is on, if not this one: then `files` are what is this machine's, and
    `opened` is the directory as the client has it. `skills` are those that the session has; None where they are
    turned off. `copied` is the copy of the session's directory elsewhere, where there is to be one. `guardian` is one
    of its own, which ends with it. `shell` is what a sub-agent's shell keeps, in place of the session's; `children`
    are the sub-agents that work here. `hooks` are the user's.
    """

    cwd: Path
    roots: tuple[Path, ...]
    files: Callable[[CancelToken], FileSystem]
    terminal: Environment
    approvals: Approvals
    settings: ToolSettings
    history: Callable[[CallIdentity], FileHistory]
    output_file: Callable[[CallIdentity], Path | None] = lambda _: None
    tools: Toolbox = field(default_factory=Toolbox)
    mcp: McpServers | None = None
    processes: Processes | None = None
    programs: Callable[[Gate], Programs] | None = None
    web: Callable[[Gate], Web] | None = None
    cache: Path | None = None
    browser: SessionBrowser | None = None
    seen: FilesSeen = field(default_factory=FilesSeen)
    diagnostics: LanguageServers | None = None
    containment: Containment = field(default_factory=Containment)
    skills: SessionSkills | None = None
    guardian: Guardian | None = None
    shell: ShellMemory | None = None
    children: Children = field(default_factory=Children)
    elsewhere: Elsewhere | None = None
    opened: Path | None = None
    hooks: SessionHooks = field(default_factory=SessionHooks)
    copied: SessionCopy | None = None

    @property
    def client_cwd(self) -> Path:
        """The session's directory as its client names it."""
        return self.opened or self.cwd

    def all_files(self, token: CancelToken) -> FileSystem:
        """The files of the machine that the session works on, ungated."""
        here, there = self.files(token), self.elsewhere
        if there is None:
            return here
        from tools.environments.remote.files import RoutedFiles  # noqa: PLC0415 - most sessions work here

        shared = (*there.shared, *self.approvals.rules.readable)
        return RoutedFiles(here, lambda: there.files(token), shared)

    def context(
        self,
        identity: CallIdentity,
        token: CancelToken,
        services: AgentServices,
        *,
        on_allowed: Callable[[Action], None],
        on_output: Callable[[str], None],
    ) -> ToolContext:
        """The context of one tool call; `on_allowed` is told of each action that was allowed."""
        gate = Gate(
            self.approvals,
            identity.call_id,
            token,
            partial(self._allowed, on_allowed),
            on_note=lambda text: on_output(f"[{text}]\n"),
            parent=identity.parent,
            history=lambda: self.history(identity),
        )
        elsewhere = self.elsewhere
        return ToolContext(
            task_id=identity.task_id,
            session_id=identity.session_id,
            tool_call_id=identity.call_id,
            cwd=self.cwd,
            roots=self.roots,
            fs=GatedFileSystem(self.all_files(token), gate),
            terminal=GatedEnvironment(self.terminal, gate, self.containment),
            interrupt=token,
            progress=on_output,
            settings=self.settings,
            agent=services,
            output_file=self.output_file(identity),
            processes=(
                None if self.processes is None else GatedProcesses(self.processes, gate, self.containment, self.shell)
            ),
            late=LatePorts(
                mcp=lambda: None if self.mcp is None else GatedMcpTools(self.mcp, gate, services),
                programs=lambda: None if self.programs is None else self.programs(gate),
                web=lambda: None if self.web is None else self.web(gate),
                browser=lambda: self._gated_browser(gate),
                memory=lambda: None if (notes := services.memory()) is None else GatedMemory(notes, gate),
            ),
            cache=self.cache,
            seen=self.seen,
            diagnostics=self.diagnostics,
            home=None if elsewhere is None else lambda: elsewhere.facts().home,
            elsewhere="" if elsewhere is None else elsewhere.where,
            ask_own=lambda name: gate.authorize(CallOwnTool(name)),
            confirm=gate.confirm,
            hooks=self.hooks.calls if self.hooks.are_there else None,
        )

    def ready(self, turn_id: str, token: CancelToken, callbacks: AgentCallbacks) -> bool:
        """Have the session's files where they are worked on; False where the turn was cancelled before they were.

        Raises:
            RequestError: they could not be copied there.
        """
        return self.copied is None or self.copied.begin(turn_id, token, callbacks)

    def missing_tools(self) -> tuple[str, ...]:
        """Names of tools that have nothing to work with here: programs run on this machine alone."""
        return () if self.programs is not None else ("execute_code",)

    def _allowed(self, listener: Callable[[Action], None], action: Action) -> None:
        if isinstance(action, WritePath):
            places = self.containment.places
            places.agreed.note(action.path, action.after, is_left=places.is_left)
            if self.copied is not None:
                self.copied.note_agreed(action.path, action.after)
        listener(action)

    def _gated_browser(self, gate: Gate) -> BrowserPort | None:
        if self.browser is None:
            return None
        from agent_core.browser.gated_browser import GatedBrowser  # noqa: PLC0415 - most machines have none

        return GatedBrowser(self.browser, gate, self.settings.browser)

    def close(self) -> None:
        """End the session's sub-agents and processes; blocks for seconds where a browser hangs."""
        self.children.cancel()
        if self.browser is not None:
            self.browser.close()
        if self.diagnostics is not None:
            self.diagnostics.close()
        if self.processes is not None:
            self.processes.close()
        self.terminal.close()
        self.containment.close()
        if self.elsewhere is not None:
            self.elsewhere.close()
        if self.guardian is not None:
            self.guardian.kill_all()


def _programs(
    environment: LocalEnvironment,
    containment: Containment,
    settings: TerminalSettings,
    gate: Gate,
) -> Programs:
    from tools.environments.programs.running import GatedPrograms  # noqa: PLC0415 - not for every call

    return GatedPrograms(environment, gate, containment, settings)


def local_workspace(
    cwd: Path,
    extra_roots: tuple[Path, ...] = (),
    *,
    guardian: Guardian | None = None,
    approver: Approver | None = None,
    mode: Mode = "default",
    edits: EditPolicy = "mode",
    private: tuple[Path, ...] = (),
    closed: tuple[Path, ...] = (),
    permissions: PermissionSettings | None = None,
    kept: KeptGrants | None = None,
    judge: Judge | None = None,
    readable: tuple[Path, ...] = (),
    remembered: tuple[Path, ...] = (),
    settings: ToolSettings | None = None,
    history: Callable[[CallIdentity], FileHistory] = lambda _: NoHistory(),
    output_file: Callable[[CallIdentity], Path | None] = lambda _: None,
    variables: Mapping[str, str] | None = None,
    containment: Containment | None = None,
    elsewhere: Elsewhere | None = None,
) -> Workspace:
    """A workspace on this machine's disk, or elsewhere; without an approver, what would be asked is refused.

    Args:
        guardian: whose commands end with this process; None: one of the workspace's own.
        private, closed, readable, remembered: as in `Rules`.
        permissions: what settings and projects say.
        kept: what was allowed for good; None where nothing is kept.
        judge: who may say yes to what comes back by itself; None: nobody.
        variables: what commands' environment is made from; this process's own when None.
        containment: how commands are confined; None: not at all, so that they are asked about.
        elsewhere: the machine that the session works on; None for this one.
    """
    confined = containment or Containment()
    limits, given = settings or ToolSettings(), permissions or PermissionSettings()
    roots = (cwd, *extra_roots) if elsewhere is None else elsewhere.roots
    rules = Rules(
        roots=tuple(Path(os.path.realpath(root)) for root in roots) if elsewhere is None else elsewhere.real_roots,
        private=tuple(Path(os.path.realpath(path)) for path in private),
        closed=frozenset(closed),
        deny=given.deny,
        allow=given.allow,
        asks_all=given.mode == "all",
        readable=tuple(Path(os.path.realpath(path)) for path in readable),
        remembered=tuple(Path(os.path.realpath(path)) for path in remembered),
        confines=confined.confines,
        runs_later=confined.places.runs,
        is_elsewhere=elsewhere is not None and not elsewhere.shared,
    )
    guarding = guardian or Guardian()
    environment: Environment
    processes: Processes
    programs = None
    if elsewhere is None:
        environment = local = LocalEnvironment(guarding, limits.terminal, variables, sandbox=confined.sandbox)
        processes = LocalProcesses(local, ShellMemory(cwd))
        programs = partial(_programs, local, confined, limits.terminal)
    else:
        environment, processes = elsewhere.terminal, elsewhere.processes
    return Workspace(
        cwd=roots[0],
        roots=roots,
        files=lambda token: LocalFileSystem(limits.search, token, rules.private),
        terminal=environment,
        processes=processes,
        programs=programs,
        approvals=Approvals(
            rules,
            mode,
            approver,
            edits=edits,
            # What was allowed for good was allowed for this machine's directory of that name.
            grants=Grants(None if rules.is_elsewhere else kept, rules.roots),
            judge=judge,
            warnings=(*given.warnings, *(elsewhere.warnings if elsewhere else ())),
        ),
        settings=limits,
        history=history,
        output_file=output_file,
        containment=confined,
        guardian=None if guardian else guarding,
        elsewhere=elsewhere,
        opened=None if elsewhere is None else cwd,
    )
