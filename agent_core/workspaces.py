"""Makes where the sessions of one process work, and holds what they share of this machine."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.auxiliary.approving import ModelJudge
from agent_core.auxiliary.client import AuxiliaryClient
from agent_core.config import ConfigSource, Configuration
from agent_core.containing import containment_of
from agent_core.elsewhere import denied_there, elsewhere_of, history_there, is_copied, policies_there
from agent_core.hooks.sessions import HookSessions
from agent_core.hooks.transcript import Transcript
from agent_core.mcp.making import session_servers, wants_servers
from agent_core.memory.store import FOLDER as MEMORIES
from agent_core.own_variables import OwnVariables
from agent_core.plugins.plugins import Plugins
from agent_core.providers.resolve import variables_named
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.schema import files_of
from agent_core.settings.model import Settings
from agent_core.settings.options import SessionChoices
from agent_core.settings.project import ProjectPolicy, permission_settings
from agent_core.settings.sections import TerminalPart
from agent_core.skills.making import session_skills
from agent_core.tool_settings import tool_settings
from agent_core.web_access import WebAccess
from agent_core.workspace import CallIdentity, Workspace, local_workspace
from tools.approval.grants import FILE_NAME as PERMISSIONS_FILE
from tools.approval.grants import KeptGrants
from tools.approval.rule_patterns import moved, places_denied
from tools.browser.port import can_browse
from tools.environments.git import git_root
from tools.environments.guardian import Guardian
from tools.environments.program_finder import PROGRAMS
from tools.ports import FileHistory, NoHistory
from tools.registry import RememberedCheck, Toolbox
from tools.settings import BrowserSettings

if TYPE_CHECKING:
    from agent_core.browser.session_browser import SessionBrowser
    from agent_core.lsp.diagnostics import LanguageServers
    from agent_core.mcp.service_loop import ServiceLoop
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.mcp.specs import ServerSpec
    from tools.environments.backends import Elsewhere
    from tools.environments.sandbox.port import Sandbox

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
        tell = self._sessions.background.keep_news
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
            judge=ModelJudge(self._auxiliary) if permissions.smart else None,
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
            web=self._web.under(limits.web),
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
        from agent_core.far_copy.making import session_copy  # noqa: PLC0415 - most sessions work here

        files, background = self._sessions.files, self._sessions.background
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
        from agent_core.lsp.configured import configured_servers  # noqa: PLC0415 - they are off by default
        from agent_core.lsp.diagnostics import LanguageServers  # noqa: PLC0415
        from agent_core.lsp.server import LspLimits  # noqa: PLC0415

        return LanguageServers(
            roots,
            loop=self._services_loop(),
            guardian=self._guardian,
            configured=configured_servers(settings.lsp.servers),
            limits=LspLimits(wait=settings.lsp.wait),
            variables=OwnVariables(variables_named(settings)),
        )

    def _services_loop(self) -> ServiceLoop:
        from agent_core.mcp.service_loop import ServiceLoop  # noqa: PLC0415 - only for servers and browsers

        with self._lock:
            self._service_loop = self._service_loop or ServiceLoop()
            return self._service_loop
