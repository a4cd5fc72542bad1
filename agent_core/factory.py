"""Makes the agents of one process: settings and model connections are shared, everything else is a session's own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from agent_core.agent import AIAgent
from agent_core.config import ConfigSource
from agent_core.errors import HermesError
from agent_core.providers.base import Provider
from agent_core.providers.choice import ModelChoice
from agent_core.providers.make import make_provider
from agent_core.providers.resolve import resolve_model
from agent_core.services import SessionServices
from agent_core.sessions.memory import InMemorySessionStore
from agent_core.sessions.store import SessionStore
from agent_core.workspace import Workspace, local_workspace
from tools.approval.policy import Mode
from tools.environments.guardian import Guardian
from tools.toolsets import load_builtin_tools

log = logging.getLogger(__name__)


class AgentFactory:
    """The composition root of the agent side; safe to use from several threads."""

    def __init__(self, config: ConfigSource, store: SessionStore | None = None) -> None:
        self._config = config
        self._guardian = Guardian()
        self._providers: dict[ModelChoice, Provider] = {}
        self._lock = threading.Lock()
        self.store = store or InMemorySessionStore()

    def workspace(self, cwd: Path, extra_roots: Sequence[Path], mode: Mode) -> Workspace:
        """Where a session works: this machine's disk and shell, behind the user's rules; nobody is asked yet.

        Raises:
            SettingsError: the settings cannot be read.
        """
        settings = self._config.load().settings
        return local_workspace(
            cwd,
            tuple(extra_roots),
            guardian=self._guardian,
            mode=mode,
            private=(self._config.home.root,),
            allowed_commands=frozenset(command.strip() for command in settings.command_allowlist),
        )

    def approval_timeout(self) -> float:
        """Seconds that a permission question waits."""
        return self._config.load().settings.approvals.timeout

    def agent(self, session_id: str, workspace: Workspace, services: SessionServices) -> AIAgent:
        """The agent of a session, with the model that the settings choose now.

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        config = self._config.load()
        choice = resolve_model(config)
        return AIAgent(
            choice.model,
            self._provider(choice),
            max_iterations=config.settings.agent.max_turns,
            session_store=self.store,
            session_id=session_id,
            workspace=workspace,
            services=services,
            max_tokens=choice.max_tokens,
            context_length=choice.context_length,
        )

    def check_model(self) -> ModelChoice:
        """The model that sessions get.

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        return resolve_model(self._config.load())

    def warm(self) -> None:
        """Load what the first prompt needs; a model that cannot be used is no error here."""
        load_builtin_tools()
        try:
            self._provider(self.check_model()).warm()
        except HermesError:
            log.info("the model is not ready", exc_info=True)

    def close(self) -> None:
        """End every process and connection."""
        self._guardian.kill_all()
        with self._lock:
            for provider in self._providers.values():
                provider.close()
            self._providers.clear()

    def _provider(self, choice: ModelChoice) -> Provider:
        with self._lock:
            return self._providers.setdefault(choice, make_provider(choice))
