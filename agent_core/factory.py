"""Makes the agents of one process: settings and model connections are shared, everything else is a session's own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from agent_core.agent import AIAgent
from agent_core.asking.route import Member, Route
from agent_core.asking.survive import Patience
from agent_core.auxiliary.client import AuxiliaryClient
from agent_core.config import ConfigSource, Configuration
from agent_core.errors import HermesError
from agent_core.providers.base import Provider
from agent_core.providers.choice import ModelChoice
from agent_core.providers.credentials.oauth import OAuthBearer
from agent_core.providers.credentials.pool import CredentialPool
from agent_core.providers.credentials.state import pool_state
from agent_core.providers.credentials.token_store import FILE_NAME as TOKENS_FILE
from agent_core.providers.credentials.token_store import TokenStore
from agent_core.providers.make import make_provider
from agent_core.providers.resolution.resolve import resolve_fallbacks, resolve_model
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
        self._pool_state = pool_state(config.home.root)
        self._tokens = TokenStore(config.home.root / TOKENS_FILE)
        self._lock = threading.Lock()
        self._auxiliary = AuxiliaryClient(config, self._member, self._provider)
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
        route = self._route(config)
        choice = route.members[0].choice
        return AIAgent(
            choice.model,
            self._provider(choice),
            route=route,
            reasoning=config.settings.agent.reasoning_effort,
            cache_ttl=config.settings.prompt_caching.cache_ttl,
            patience=Patience(config.settings.agent.api_max_retries),
            max_iterations=config.settings.agent.max_turns,
            session_store=self.store,
            session_id=session_id,
            workspace=workspace,
            services=services,
        )

    def auxiliary(self) -> AuxiliaryClient:
        """Who asks models for side tasks: one for all sessions, over the connections of their agents."""
        return self._auxiliary

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

    def _route(self, config: Configuration) -> Route:
        choice = resolve_model(config)
        fallbacks, problems = resolve_fallbacks(config, choice)
        for problem in problems:
            log.warning("a fallback is left out: %s", problem)
        return Route([self._member(config, each) for each in (choice, *fallbacks)], self._provider)

    def _member(self, config: Configuration, choice: ModelChoice) -> Member:
        if choice.api_key is None and self._tokens.get(choice.provider) is not None:
            return Member(choice, bearer=OAuthBearer(self._tokens, choice.provider))
        keys = tuple(key for key in (choice.api_key, *choice.spare_keys) if key)
        strategy = config.settings.credential_pool_strategies.get(choice.provider, "fill_first")
        # Each pool looks into the shared state for itself: there is nothing to keep of it here.
        return Member(choice, CredentialPool(choice.provider, keys, strategy, self._pool_state))

    def _provider(self, choice: ModelChoice) -> Provider:
        with self._lock:
            return self._providers.setdefault(choice, make_provider(choice))
