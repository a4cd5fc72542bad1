"""Makes the routes of a process's sessions: which servers are asked, with which keys, over shared connections."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

from agent_core.asking.route import Member, Route
from agent_core.config import Configuration
from agent_core.providers.base import Provider
from agent_core.providers.choice import ModelChoice
from agent_core.providers.credentials import CredentialPool, pool_state
from agent_core.providers.factory import make_provider
from agent_core.providers.lessons import FILE_NAME as LESSONS_FILE
from agent_core.providers.lessons import Lessons
from agent_core.providers.model_windows import Windows
from agent_core.providers.resolve import resolve_fallbacks
from agent_core.providers.token_renewal import OAuthBearer
from agent_core.providers.token_store import FILE_NAME as TOKENS_FILE
from agent_core.providers.token_store import TokenStore

log = logging.getLogger(__name__)


class Routes:
    """The connections to models of one process; safe to use from several threads.

    Attributes:
        tokens: the stored sign-ins.
        lessons: what was learned of models' servers.
        windows: what is learnt of their servers' windows.
    """

    def __init__(self, root: Path) -> None:
        """Take the home directory, where sign-ins and the state of keys are."""
        self._providers: dict[ModelChoice, Provider] = {}
        self._pool_state = pool_state(root)
        self.tokens = TokenStore(root / TOKENS_FILE)
        self.lessons = Lessons(root / LESSONS_FILE)
        self.windows = Windows()
        self._lock = threading.Lock()

    def route(self, config: Configuration, choice: ModelChoice) -> Route:
        """`choice`, and behind it what the settings fall back to."""
        fallbacks, problems = resolve_fallbacks(config, choice)
        for problem in problems:
            log.warning("a fallback is left out: %s", problem)
        return Route(
            [self.member(config, each) for each in (choice, *fallbacks)], self.provider, self.lessons, self.windows
        )

    def member(self, config: Configuration, choice: ModelChoice) -> Member:
        """`choice` with what it signs in with."""
        if choice.api_key is None and self.tokens.get(choice.provider) is not None:
            return Member(choice, bearer=OAuthBearer(self.tokens, choice.provider))
        keys = tuple(key for key in (choice.api_key, *choice.spare_keys) if key)
        strategy = config.settings.credential_pool_strategies.get(choice.provider, "fill_first")
        # Each pool looks into the shared state for itself: there is nothing to keep of it here.
        return Member(choice, CredentialPool(choice.provider, keys, strategy, self._pool_state))

    def provider(self, choice: ModelChoice) -> Provider:
        """The connection for `choice`, made at its first use."""
        with self._lock:
            return self._providers.setdefault(choice, make_provider(choice, self.lessons))

    def close(self) -> None:
        """End every connection."""
        with self._lock:
            for provider in self._providers.values():
                provider.close()
            self._providers.clear()
