"""Makes the agents of one process: settings and model connections are shared, everything else is a session's own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_core.agent import AIAgent
from agent_core.asking.route import Member, Route
from agent_core.asking.survive import Patience
from agent_core.auxiliary.client import AuxiliaryClient
from agent_core.config import ConfigSource, Configuration
from agent_core.errors import AuthRequired, HermesError, SettingsError, StoreError, UnknownSession
from agent_core.providers.base import Provider
from agent_core.providers.choice import ModelChoice
from agent_core.providers.credentials.oauth import OAuthBearer
from agent_core.providers.credentials.pool import CredentialPool
from agent_core.providers.credentials.state import pool_state
from agent_core.providers.credentials.token_store import FILE_NAME as TOKENS_FILE
from agent_core.providers.credentials.token_store import TokenStore
from agent_core.providers.make import make_provider
from agent_core.providers.resolution.resolve import resolve_fallbacks, resolve_model, resolve_named
from agent_core.services import SessionServices
from agent_core.sessions.database.file_header import files_of
from agent_core.sessions.library import SessionLibrary
from agent_core.settings import Settings
from agent_core.workspace import CallIdentity, Workspace, local_workspace
from tools.approval.policy import Mode
from tools.environments.guardian import Guardian
from tools.file_history import FileHistory
from tools.toolsets import load_builtin_tools

log = logging.getLogger(__name__)

# No server keeps a conversation's beginning for longer: a prompt that is built anew then costs nothing more.
_CACHED_SECONDS = 24 * 3600.0


class AgentFactory:
    """The composition root of the agent side; safe to use from several threads."""

    def __init__(self, config: ConfigSource, sessions: SessionLibrary | None = None) -> None:
        self._config = config
        self._guardian = Guardian()
        self._providers: dict[ModelChoice, Provider] = {}
        self._pool_state = pool_state(config.home.root)
        self._tokens = TokenStore(config.home.root / TOKENS_FILE)
        self._lock = threading.Lock()
        self._auxiliary = AuxiliaryClient(config, self._member, self._provider)
        self.sessions = sessions or SessionLibrary(config.home)

    def workspace(self, cwd: Path, extra_roots: Sequence[Path], mode: Mode) -> Workspace:
        """Where a session works: this machine's disk and shell, behind the user's rules; nobody is asked yet.

        Raises:
            SettingsError: the settings cannot be read.
        """
        settings = self._config.load().settings
        roots = (cwd, *extra_roots)

        def history(call: CallIdentity) -> FileHistory:
            return self.sessions.files.for_call(call.session_id, call.turn_id, call.call_id, roots)

        return local_workspace(
            cwd,
            tuple(extra_roots),
            guardian=self._guardian,
            mode=mode,
            private=(self._config.home.root,),
            closed=files_of(self._config.home.database),
            allowed_commands=frozenset(command.strip() for command in settings.command_allowlist),
            history=history,
        )

    def settings(self) -> Settings:
        """The user's settings as they are now.

        Raises:
            SettingsError: they cannot be read.
        """
        return self._config.load().settings

    def idle_seconds(self) -> float:
        """Seconds after which a session that nobody uses is unloaded; 0 is never.

        Raises:
            SettingsError: the settings cannot be read.
        """
        return self.settings().sessions.idle_minutes * 60.0

    def services(self, session_id: str) -> SessionServices:
        """What a session keeps between its turns, as its last process left it, if that can be read."""
        services = SessionServices(lambda: self.sessions.recall)
        try:
            kept = self.sessions.store.kept(session_id)
            used = self.sessions.archive.get(session_id).updated_at
        except UnknownSession:
            return services
        except StoreError:
            # The turn goes on in memory and says so, or fails because its messages cannot be read either.
            log.warning("what session %s has kept cannot be read", session_id, exc_info=True)
            return services
        if kept is not None:
            services.restore(kept, same_prompt=time.time() - used < _CACHED_SECONDS)
        return services

    def approval_timeout(self) -> float:
        """Seconds that a permission question waits."""
        return self._config.load().settings.approvals.timeout

    def agent(
        self,
        session_id: str,
        workspace: Workspace,
        services: SessionServices,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> AIAgent:
        """The agent of a session, with the model that it used last, or else that the settings choose now.

        Args:
            on_note: is told when the session's own model cannot be used any more.

        Raises:
            AuthRequired, SettingsError: no usable model.
        """
        config = self._config.load()
        route = self._route(config, self._choice(config, services.model, on_note))
        choice = route.members[0].choice
        return AIAgent(
            choice.model,
            self._provider(choice),
            route=route,
            reasoning=config.settings.agent.reasoning_effort,
            cache_ttl=config.settings.prompt_caching.cache_ttl,
            patience=Patience(config.settings.agent.api_max_retries),
            max_iterations=config.settings.agent.max_turns,
            session_store=self.sessions.store,
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
        self.sessions.warm()

    def close(self) -> None:
        """End every process and connection."""
        self._guardian.kill_all()
        with self._lock:
            for provider in self._providers.values():
                provider.close()
            self._providers.clear()
        self.sessions.close()

    def _choice(self, config: Configuration, own: str, on_note: Callable[[str], None]) -> ModelChoice:
        if not own or config.overrides.model or config.overrides.provider:
            return resolve_model(config)
        try:
            provider, _, model = own.partition(":")
            return resolve_named(config, provider, model, source="session")
        except (AuthRequired, SettingsError) as problem:
            choice = resolve_model(config)
            on_note(f"This session's model, {own}, cannot be used now ({problem.public}) {choice.name} answers.")
            return choice

    def _route(self, config: Configuration, choice: ModelChoice) -> Route:
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
