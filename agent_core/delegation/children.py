"""The sub-agents that work in a workspace just now, so that none outlives it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from agent_core.interrupt import CancelToken


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
