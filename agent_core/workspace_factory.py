"""Makes where the sessions of one process work, and holds what they share of this machine."""

from __future__ import annotations

import os
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.config import ConfigSource, Configuration
from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.hooks.registry import HookSessions, Transcript
from agent_core.mcp.factory import session_servers, wants_servers
from agent_core.memory.store import FOLDER as MEMORIES
from agent_core.model_request.side_models import AuxiliaryClient, ModelJudge
from agent_core.plugins.discovery import PLUGINS
from agent_core.plugins.plugins import Plugins
from agent_core.providers.catalog import SERVICES
from agent_core.providers.resolve import variables_named
from agent_core.remote.target import (
    OwnVariables,
    denied_there,
    elsewhere_of,
    history_there,
    is_copied,
    policies_there,
)
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.schema import files_of
from agent_core.settings.model import PluginSettings, Settings
from agent_core.settings.options import SessionChoices
from agent_core.settings.project import ProjectPolicy, permission_settings
from agent_core.settings.sections import SandboxPart, TerminalPart
from agent_core.skill_files import Source, project_sources
from agent_core.skills import SessionSkills
from agent_core.workspace import CallIdentity, Workspace, local_workspace
from tools.approval.actions import ReadPath
from tools.approval.gate import Gate
from tools.approval.grants import FILE_NAME as PERMISSIONS_FILE
from tools.approval.grants import KeptGrants
from tools.approval.policy import denied_by
from tools.approval.rule_patterns import moved, places_denied
from tools.approval.rules import PermissionRule
from tools.browser.port import can_browse
from tools.environments.containment import Containment, GatedHosts, Grounds
from tools.environments.git import git_root
from tools.environments.guardian import Guardian
from tools.environments.persistence_watch import KeptPlaces
from tools.environments.program_finder import PROGRAMS
from tools.environments.sandbox.places import (
    WorkspaceSecrets,
    cache_places,
    cache_tools,
    hidden_places,
    not_within,
    protected_places,
    temporary_places,
)
from tools.environments.sandbox.port import Late, LateSandbox, Limits, Sandbox
from tools.ports import FileHistory, NoHistory, Web
from tools.registry import RememberedCheck, Toolbox
from tools.settings import (
    KEY_VARIABLES,
    BrowserSettings,
    Passthrough,
    SearchKeys,
    TerminalSettings,
    ToolSettings,
    WebSettings,
)

if TYPE_CHECKING:
    from agent_core.browser.session_browser import SessionBrowser
    from agent_core.lsp.diagnostics import LanguageServers
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.mcp.specs import ServerSpec
    from agent_core.service_loop import ServiceLoop
    from tools.environments.backends import Elsewhere
    from tools.environments.http_client import EngineSearch, HttpWeb
    from tools.environments.sandbox.network.hosts import HostRules
    from tools.environments.sandbox.network.session_network import SessionNetwork


def tool_settings(config: Configuration) -> ToolSettings:
    """What the user has set about tools, in the form that tools read."""
    settings = config.settings
    # Whether the tools are offered depends on the process's own environment: so does where the browser is.
    browser = BrowserSettings.from_environment(os.environ)
    return ToolSettings(
        redact_results=settings.security.redact_tool_results,
        browser=replace(browser, allow_private=settings.web.allow_private),
        terminal=TerminalSettings(default_timeout=settings.terminal.timeout, passthrough=_passthrough(settings)),
        programs=settings.code_execution.as_programs(),
        web=WebSettings(
            search_backend=settings.web.search_backend,
            allow_private=settings.web.allow_private,
            timeout=settings.web.timeout,
            keys=SearchKeys.from_environment(config.environ),
        ),
    )


def _passthrough(settings: Settings) -> Passthrough:
    """What commands get by name. The keys of models and searches are meant by no pattern: they are this program's."""
    of_services = {name for service in SERVICES.values() for name in service.keys}
    return Passthrough(settings.terminal.env_passthrough, variables_named(settings) | of_services | KEY_VARIABLES)


class WebAccess:
    """Makes the clients at first use, and anew when the settings have changed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: tuple[WebSettings, HttpWeb, EngineSearch] | None = None

    def behind(self, limits: WebSettings, gate: Gate) -> Web:
        """The web behind a call's gate, under these limits."""
        from tools.environments.http_client import GatedWeb  # noqa: PLC0415 - most sessions never look at the web

        inner, engines = self._clients(limits)
        return GatedWeb(inner, engines, gate, limits)

    def _clients(self, limits: WebSettings) -> tuple[HttpWeb, EngineSearch]:
        from agent_core.providers.transport import trusted_certificates  # noqa: PLC0415 - as above
        from tools.environments.http_client import EngineSearch, HttpWeb  # noqa: PLC0415

        with self._lock:
            if self._made is None or self._made[0] != limits:
                self._made = (limits, HttpWeb(limits, trust=trusted_certificates), EngineSearch())
            return self._made[1], self._made[2]


# How the commands of a session are contained: the user's settings, this machine's places, the best sandbox here.

_MIB = 1024 * 1024


def containment_of(
    settings: SandboxPart, roots: Sequence[Path], own: Path, unseen: Sequence[Path] = ()
) -> Containment:
    """The containment of a session whose directories are `roots`; its sandbox is made with the first command.

    Args:
        own: this program's home, which no command sees.
        unseen: what else none may see, because the user's rules say so.

    Raises:
        SettingsError: a host in the settings cannot be read.
    """
    real = tuple(Path(os.path.realpath(root)) for root in roots)
    from tools.environments.git import remote_hosts  # noqa: PLC0415 - not at the start
    from tools.environments.sandbox.network.hosts import HostRules, NetworkRules  # noqa: PLC0415

    hosts = GatedHosts()
    rules = NetworkRules(settings.allow_hosts, settings.deny_hosts, settings.registries)
    try:
        # Now: what somebody writes into `.git/config` during the session allows nothing.
        reachable = HostRules(rules, remote_hosts(real))
    except ValueError as problem:
        raise SettingsError(f"The settings of `sandbox` name a host that cannot be read: {problem}") from problem
    network = Late(lambda: _network(hosts, reachable))
    return Containment(
        sandbox=LateSandbox(lambda: _sandbox(network)),
        why_not=_why_none,
        level=settings.level,
        network=settings.network,
        limits=Limits(
            settings.cpu_seconds, _bytes(settings.memory_mb), settings.processes, _bytes(settings.file_size_mb)
        ),
        grounds=_Places(settings, real, (own, *unseen)),
        places_told=_places_told(settings),
        hosts_told=reachable.told(),
        places=KeptPlaces(real),
        secrets=WorkspaceSecrets(real),
        hosts=hosts,
        on_close=lambda: _close(network.end()),
    )


def _places_told(settings: SandboxPart) -> str:
    """Where commands may change files, in words for the model."""
    caches = ("package caches",) if settings.caches else ()
    places = ["the session's directories", "temporary directories", *caches, *settings.writable]
    return f"{', '.join(places[:-1])} and {places[-1]}"


def find_sandbox() -> None:
    """Find out which sandbox works here, as far as the system prompt tells it."""
    from tools.environments.sandbox.probe import reaches_hosts  # noqa: PLC0415 - in the background

    reaches_hosts()


def load_sandbox() -> None:
    """Find out which sandbox works here, and load what a session's first command makes of it."""
    from tools.environments.sandbox.network import session_network  # noqa: F401, PLC0415
    from tools.environments.sandbox.probe import why_none  # noqa: PLC0415 - in the background

    why_none()


def _why_none() -> str:
    from tools.environments.sandbox.probe import why_none  # noqa: PLC0415 - with the first command

    return why_none()


def _sandbox(network: Late[SessionNetwork]) -> Sandbox | None:
    from tools.environments.sandbox.probe import make_sandbox  # noqa: PLC0415 - with the first command

    return make_sandbox(network)


def _network(gate: GatedHosts, hosts: HostRules) -> SessionNetwork:
    from tools.environments.sandbox.network.session_network import SessionNetwork  # noqa: PLC0415 - likewise

    return SessionNetwork(gate, hosts)


def _close(network: SessionNetwork | None) -> None:
    if network is not None:
        network.close()


class _Places:
    """The places on this machine. Safe to use from several threads.

    What may be written is looked up once, before the first command: none must lead the next one elsewhere. What is
    hidden and protected is looked up for each command: a sign-in may come at any time.
    """

    def __init__(self, settings: SandboxPart, roots: tuple[Path, ...], own: tuple[Path, ...]) -> None:
        self._settings = settings
        self._roots = roots
        self._own = own
        self._lock = threading.Lock()
        self._writable: tuple[Path, ...] | None = None

    def __call__(self) -> Grounds:
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - never raises
        with self._lock:
            if self._writable is None:
                self._writable = self._look(home)
            hidden = hidden_places(home, self._own, self._roots)
            return Grounds(self._writable, hidden, protected_places(home, self._roots))

    def _look(self, home: Path) -> tuple[Path, ...]:
        installed = filter(shutil.which, cache_tools())  # noqa: TID251 - what commands find, and nothing is run
        caches = cache_places(home, installed) if self._settings.caches else ()
        found = (*self._roots, *temporary_places(os.environ, self._roots), *caches)
        added = not_within((Path(text).expanduser() for text in self._settings.writable), found)
        return (*found, *(path for path in added if path.is_dir()))


def _bytes(mebibytes: int | None) -> int | None:
    return None if mebibytes is None else mebibytes * _MIB


# A session's skills, from the user's settings and the places that skills may be in.

SKILLS = "skills"
_MOST_PLUGINS = 200


def session_skills(
    settings: Settings,
    home: Home,
    cwd: Path,
    deny: tuple[PermissionRule, ...],
    roots: tuple[Path, ...],
    *,
    offered: Callable[[], Sequence[Path]] = tuple,
) -> SessionSkills | None:
    """The skills of a session in `cwd`, not looked at yet; None where the settings turn them off.

    Args:
        deny: the user's rules that deny; they hold for skills too.
        roots: the session's directories.
        offered: folders that plugins offer now.
    """
    wanted = settings.skills
    if not wanted.enabled:
        return None
    real_roots = tuple(Path(os.path.realpath(root)) for root in roots)

    def refusal(path: Path) -> str:
        hit = denied_by(ReadPath(path), deny, real_roots) if deny else None
        return f"is denied by the user's rule {hit.rule.shown}" if hit is not None else ""

    def sources() -> Sequence[Source]:
        named = (os.path.expanduser(os.path.expandvars(text)) for text in wanted.external_dirs)  # noqa: PTH111 - never raises
        return (
            Source(home.root / SKILLS, "yours"),
            *(Source(home.root / path, "external") for path in named),
            *_of_plugins(home.root / PLUGINS, settings.plugins),
            *(Source(path, "plugin", within=path) for path in offered()),
            *project_sources(cwd),
        )

    return SessionSkills(
        sources,
        home.root / SKILLS,
        disabled=frozenset(wanted.disabled),
        refusal=refusal,
        most_chars=wanted.index_chars,
    )


def _of_plugins(plugins: Path, settings: PluginSettings) -> Iterator[Source]:
    """The folders `skills` of plugins that are wanted, by the plugins' folder names."""
    try:
        names = sorted(os.listdir(plugins))[:_MOST_PLUGINS]  # noqa: PTH208 - names alone
    except OSError:
        return
    for name in names:
        if settings.allows(name) and not name.startswith("."):
            yield Source(plugins / name / SKILLS, "plugin", within=Path(os.path.realpath(plugins / name)))


_END_SECONDS, _END_OF_COPIES_SECONDS = 3.0, 12.0


class Workspaces:
    """Makes workspaces, and ends what they have started; safe to use from several threads."""

    def __init__(
        self, config: ConfigSource, sessions: SessionLibrary, auxiliary: AuxiliaryClient, plugins: Plugins
    ) -> None:
        self._config = config
        self._plugins = plugins
        self._sessions = sessions
        self._auxiliary = auxiliary
        self._guardian = Guardian()
        self.hooks = HookSessions(config, plugins, self._guardian, self._transcript)
        self._web = WebAccess()
        # To look through PATH and packages would be a quarter of opening a session.
        self._can_browse = RememberedCheck(can_browse)
        self._kept = KeptGrants(config.home.root / PERMISSIONS_FILE)
        self._lock = threading.Lock()
        self._service_loop: ServiceLoop | None = None
        self._elsewhere: dict[int, Elsewhere] = {}
        self._sandboxes: weakref.WeakSet[Sandbox] = weakref.WeakSet()

    def _transcript(self, session_id: str) -> Transcript | None:
        if not session_id:
            return None
        path, store = self._sessions.outputs.transcript_of(session_id), self._sessions.store
        return Transcript(path, session_id, lambda: store.messages(session_id))

    def make(
        self,
        cwd: Path,
        extra_roots: Sequence[Path],
        choices: SessionChoices,
        session_id: str = "",
        further: Sequence[ProjectPolicy] = (),
    ) -> Workspace:
        """Where a session works: this machine's disk and shell, behind the user's rules; nobody is asked yet.

        Args:
            session_id: whose saved outputs may be read without a question; '' for none.
            further: what holds beside the settings.

        Raises:
            SettingsError: the settings cannot be read.
        """
        config = self._config.load()
        limits, roots = tool_settings(config), (cwd, *extra_roots)
        PROGRAMS.name(config.settings.programs)
        # A repository that holds the whole home, as some keep their settings, is the user's own.
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - never raises
        above = [top for root in roots if (top := git_root(root)) is not None and not home.is_relative_to(top)]
        PROGRAMS.distrust((*roots, *above, *(Path(text).expanduser() for text in config.settings.sandbox.writable)))
        self._plugins.load_for_backend(config.settings.terminal.backend)
        tell = self._sessions.store.keep_news
        elsewhere = elsewhere_of(config.settings, session_id, roots, limits, self._guardian, tell=tell)
        connected = None if elsewhere is None else self._connected(elsewhere)
        try:
            return self._made(config, elsewhere, roots, choices, session_id=session_id, further=further)
        except BaseException:
            # What was connected, or made there and costs money, would stay as long as this process.
            if connected is not None:
                connected.close()
            raise

    def _made(
        self,
        config: Configuration,
        elsewhere: Elsewhere | None,
        roots: tuple[Path, ...],
        choices: SessionChoices,
        *,
        session_id: str,
        further: Sequence[ProjectPolicy],
    ) -> Workspace:
        """The workspace in `roots`, the first of which is its directory."""
        limits, cwd, extra_roots = tool_settings(config), roots[0], roots[1:]
        further = (*policies_there(elsewhere), *further)
        copied = cwd if elsewhere is not None and is_copied(config.settings.terminal, elsewhere) else None
        permissions = permission_settings(config, roots, further, lambda rule: denied_there(rule, elsewhere, copied))

        def history(call: CallIdentity) -> FileHistory:
            rows = self._sessions.files.for_call(call.session_id, call.turn_id, call.call_id, roots)
            return rows if elsewhere is None or elsewhere.shared else history_there(elsewhere, rows)

        workspace = local_workspace(
            cwd,
            tuple(extra_roots),
            guardian=self._guardian,
            mode=choices.mode,
            edits=choices.edits,
            private=(self._config.home.root,),
            closed=files_of(self._config.home.database),
            permissions=permissions,
            kept=self._kept,
            judge=ModelJudge(self._auxiliary).lifts if permissions.smart else None,
            remembered=(self._config.home.root / MEMORIES,),
            readable=(self._sessions.outputs.directory_of(session_id),) if session_id else (),
            settings=limits,
            variables=OwnVariables(variables_named(config.settings) - limits.terminal.passthrough.exact),
            containment=(
                containment_of(
                    config.settings.sandbox,
                    roots,
                    self._config.home.root,
                    places_denied(permissions.deny, tuple(map(Path, map(os.path.realpath, roots)))),
                )
                if elsewhere is None
                else replace(elsewhere.containment, level=config.settings.sandbox.level)
            ),
            elsewhere=elsewhere,
            history=history,
            output_file=lambda call: self._sessions.outputs.file_of(call.session_id, call.call_id),
        )
        if elsewhere is not None:
            workspace = self._with_copy(workspace, elsewhere, config.settings.terminal, session_id, roots)
        with self._lock:
            if (sandbox := workspace.containment.sandbox) is not None:
                self._sandboxes.add(sandbox)
        hooks = self.hooks.of(session_id, cwd, lambda: workspace.approvals.mode)
        workspace.approvals.advice = hooks.calls.permission
        return replace(
            workspace,
            hooks=hooks,
            tools=Toolbox(self._plugins.project(cwd).tools),
            web=partial(self._web.behind, limits.web),
            cache=self._config.home.root / "cache",
            browser=self._browser(limits.browser, config.settings),
            diagnostics=self._language_servers(config.settings, roots) if elsewhere is None else None,
            skills=session_skills(
                config.settings,
                self._config.home,
                cwd,
                permissions.deny,
                roots,
                offered=lambda: self._plugins.skill_folders(cwd),
            ),
        )

    def _connected(self, made: Elsewhere, before: Callable[[], None] = lambda: None) -> Elsewhere:
        """A place that is closed at the end at the latest; `before` is done in it first."""

        def end() -> None:
            before()
            made.close()

        def close() -> None:
            with self._lock:
                self._elsewhere.pop(id(made), None)
            end()

        with self._lock:
            self._elsewhere[id(made)] = replace(made, close=end)
        return replace(made, close=close)

    def _with_copy(
        self, workspace: Workspace, elsewhere: Elsewhere, part: TerminalPart, session_id: str, roots: tuple[Path, ...]
    ) -> Workspace:
        """The workspace, closed with its place; with a copy there, where the settings want one."""
        from agent_core.remote.session_copy import session_copy  # noqa: PLC0415 - most sessions work here

        files, background = self._sessions.files, self._sessions.store
        copied = session_copy(
            part,
            elsewhere,
            session_id,
            roots,
            workspace.approvals.rules,
            history=lambda turn_id, call_id: files.for_call(session_id, turn_id, call_id, roots),
            tell_later=lambda news: background.keep_news(session_id, news),
        )
        if copied is None:
            return replace(workspace, elsewhere=self._connected(elsewhere))
        return replace(workspace, copied=copied, elsewhere=self._connected(elsewhere, copied.leave))

    def at_copy(self, workspace: Workspace, roots: Sequence[Path]) -> Workspace:
        """A workspace like a given one in other directories, with the same mode, answers and rules; to be closed.

        Args:
            roots: copies of its directories, in their order.

        What is changed there is not kept for undo.

        Raises:
            SettingsError: the settings cannot be read.
        """
        theirs = workspace.approvals.rules
        pairs = list(zip(theirs.roots, roots, strict=True))
        there = tuple(rule for each in theirs.deny for root, place in pairs for rule in moved(each, root, place))
        made = self.make(roots[0], roots[1:], SessionChoices(), further=(ProjectPolicy(there),))
        ours = made.approvals.rules
        rules = replace(
            theirs, roots=ours.roots, confines=ours.confines, runs_later=ours.runs_later, deny=(*theirs.deny, *there)
        )
        return replace(
            made,
            approvals=workspace.approvals.for_another(workspace.approvals.asker, rules=rules),
            # What was answered about a project's secret files holds for a copy of it.
            containment=replace(made.containment, projects=dict(zip(ours.roots, theirs.roots, strict=True))),
            history=lambda _: NoHistory(),
            output_file=workspace.output_file,
            tools=workspace.tools,
            mcp=workspace.mcp,
            skills=workspace.skills,
            hooks=workspace.hooks,
            browser=None,
        )

    def servers(self, specs: Sequence[ServerSpec], roots: Sequence[Path]) -> SessionServers | None:
        """The MCP servers of a session in `roots`, with those of the settings, not started yet; None for none.

        Raises:
            SettingsError: the settings cannot be read.
        """
        config = self._config.load()
        if not wants_servers(specs, config):
            return None
        return session_servers(
            specs,
            config,
            roots,
            loop=self._services_loop(),
            guardian=self._guardian,
            auxiliary=self._auxiliary,
        )

    def close(self) -> None:
        """End every process that was started in a workspace."""
        if self._service_loop is not None:
            self._service_loop.stop()
        self.hooks.end_all()
        with self._lock:
            elsewhere, self._elsewhere = tuple(self._elsewhere.values()), {}
        # All at once: a machine that does not answer takes its time.
        ends = [threading.Thread(target=each.close, name="end of a connection", daemon=True) for each in elsewhere]
        for end in ends:
            end.start()
        for end, each in zip(ends, elsewhere, strict=True):
            # What was not brought back of a copy goes with its place.
            end.join(_END_OF_COPIES_SECONDS if each.begin is not None else _END_SECONDS)
        self._guardian.kill_all()
        with self._lock:
            for sandbox in self._sandboxes:
                sandbox.close()

    def _browser(self, limits: BrowserSettings, settings: Settings) -> SessionBrowser | None:
        """A session's browser, not started yet; None where there is none."""
        if not self._can_browse():
            return None
        from agent_core.browser.session_browser import SessionBrowser  # noqa: PLC0415 - most machines have none

        variables = OwnVariables(variables_named(settings))
        return SessionBrowser(limits, self._services_loop(), self._guardian, variables)

    def _language_servers(self, settings: Settings, roots: Sequence[Path]) -> LanguageServers | None:
        """A session's language servers, not started yet; None where the settings do not turn them on."""
        if not settings.lsp.enabled:
            return None
        from agent_core.lsp.diagnostics import LanguageServers  # noqa: PLC0415
        from agent_core.lsp.server import LspLimits, configured_servers  # noqa: PLC0415 - they are off by default

        return LanguageServers(
            roots,
            loop=self._services_loop(),
            guardian=self._guardian,
            configured=configured_servers(settings.lsp.servers),
            limits=LspLimits(wait=settings.lsp.wait),
            variables=OwnVariables(variables_named(settings)),
        )

    def _services_loop(self) -> ServiceLoop:
        from agent_core.service_loop import ServiceLoop  # noqa: PLC0415 - only for servers and browsers

        with self._lock:
            self._service_loop = self._service_loop or ServiceLoop()
            return self._service_loop
