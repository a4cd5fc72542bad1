"""The hooks of one process's sessions: made with their workspaces, told of their end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agent_core.config import ConfigSource
from agent_core.errors import SettingsError
from agent_core.hooks.asking import HookedSession, HookSet
from agent_core.hooks.bounded import bounded
from agent_core.hooks.hook import Hook, HookFailed
from agent_core.hooks.session_hooks import SessionHooks
from agent_core.hooks.transcript import Transcript
from agent_core.own_variables import OwnVariables
from agent_core.plugins.plugins import Plugins
from agent_core.plugins.project import HOOKS, ProjectPlugins
from agent_core.providers.resolve import variables_named
from agent_core.settings.hooks import HooksPart
from tools.environments.guardian import Guardian

log = logging.getLogger(__name__)

_END_SECONDS = 3.0


class HookSessions:
    """By session; safe to use from several threads."""

    def __init__(
        self,
        config: ConfigSource,
        plugins: Plugins,
        guardian: Guardian,
        transcript_of: Callable[[str], Transcript | None] = lambda _: None,
    ) -> None:
        """Make it.

        Args:
            guardian: sees to it that no command of a hook outlives this process.
            transcript_of: a session's conversation as a file.
        """
        self._config = config
        self._plugins = plugins
        self._guardian = guardian
        self._transcript_of = transcript_of
        self._live: dict[str, SessionHooks] = {}
        self._listeners: dict[str, Callable[[str, str], None]] = {}
        self._lock = threading.Lock()

    def of(self, session_id: str, cwd: Path, mode: Callable[[], str]) -> SessionHooks:
        """The hooks of a session in `cwd`, not looked for yet.

        Args:
            session_id: '' for one whose end nobody tells of.
            mode: its permission mode.
        """

        def tell_later(source: str, text: str) -> None:
            listener = self._listeners.get(session_id)
            if listener is not None:
                listener(source, text)

        transcript = self._transcript_of(session_id)
        session = HookedSession(session_id, cwd, mode, tell_later, transcript.current if transcript else str)
        hooks = SessionHooks(session, lambda: self._found(cwd))
        if session_id:
            with self._lock:
                self._live[session_id] = hooks
        return hooks

    def listen(self, session_id: str, listener: Callable[[str, str], None]) -> None:
        """Have `listener` told what hooks in the background have to say to the session's model: whose it is, and the
        text; on any thread.
        """
        self._listeners[session_id] = listener

    def before_compression(self, session_id: str, *, by_person: bool, topic: str) -> None:
        """A session's conversation is about to be compressed; see `SessionHooks.before_compression`."""
        hooks = self._live.get(session_id)
        if hooks is not None:
            hooks.before_compression(by_person=by_person, topic=topic)

    def end(self, session_id: str, reason: str = "other") -> None:
        """A session is closed or let go of. Blocks for seconds where its hooks hang."""
        self._listeners.pop(session_id, None)
        with self._lock:
            hooks = self._live.pop(session_id, None)
        if hooks is None or not hooks.has("session_end"):
            return
        try:
            bounded(lambda: hooks.end_session(reason), _END_SECONDS, None, "hooks at a session's end")
        except HookFailed as problem:
            log.warning("the hooks at the end of session %s: it %s", session_id, problem)

    def end_all(self) -> None:
        """The program ends. Blocks for seconds at most."""
        threads = [
            threading.Thread(target=self.end, args=(session_id, "exit"), daemon=True)
            for session_id, hooks in list(self._live.items())
            if hooks.has("session_end")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_END_SECONDS)

    def _found(self, cwd: Path) -> HookSet:
        """The hooks that count now in a session in `cwd`: the settings', the plugins', the project's."""
        project = self._plugins.project(cwd)
        project.look()
        try:
            settings = self._config.load().settings.hooks
        except SettingsError:  # it is told where the settings are needed; no turn comes so far
            settings = HooksPart()
        found = (
            *self._commands(settings, "config.yaml", {}),
            *self._plugins.hooks(),
            *(hook for status in project.loaded for hook in status.offers.hooks),
            *self._of_project(project),
        )
        return HookSet(found, settings.may_allow, settings.max_continues)

    def _commands(self, settings: HooksPart, where: str, extra: Mapping[str, str]) -> Iterator[Hook]:
        if not settings.commands:
            return
        from agent_core.hooks.commands import CommandRunner, command_hooks  # noqa: PLC0415 - for those who have some

        runner = CommandRunner(self._guardian, self._variables, extra)
        yield from command_hooks(settings.commands, where, runner)

    def _of_project(self, project: ProjectPlugins) -> Iterator[Hook]:
        copy = project.hooks_copy()
        if copy is None:
            return
        from agent_core.hooks.project_file import read_hooks  # noqa: PLC0415 - few projects have some

        try:
            settings = read_hooks(copy)
        except HookFailed as problem:
            log.warning("the hooks of %s: %s", project.root, problem)
            return
        where = f"{HOOKS}/ of {project.root.name}"
        yield from self._commands(settings, where, {"HERMES_HOOKS_DIR": str(copy)})

    def _variables(self) -> Mapping[str, str]:
        """This process's variables, without those that the settings take keys from."""
        try:
            hidden = variables_named(self._config.load().settings)
        except SettingsError:
            hidden = frozenset()
        return OwnVariables(hidden)
