"""Agents whose models are real servers on the loopback, in any of the wire protocols."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.agent import AIAgent
from agent_core.model_request.caller import Patience
from agent_core.model_request.fallback_chain import Member, Route, make_provider
from agent_core.model_request.retry_policy import Backoff
from agent_core.providers.base import ApiMode, Provider
from agent_core.providers.choice import Dialect, ModelChoice
from agent_core.providers.credentials import CredentialPool, PoolState
from agent_core.providers.lessons import Lessons
from agent_core.providers.model_windows import Windows
from tests.support.agents import make_agent
from tests.support.choices import choice_for

PROTOCOLS: tuple[ApiMode, ...] = ("chat_completions", "anthropic_messages", "codex_responses")
KEY = "sk-test-0123456789"


def quick() -> Patience:
    """Patience whose waits are over at once."""
    return Patience(4, lambda: Backoff(0.001, 0.002, random.Random(1)))


def patient() -> Patience:
    """Patience whose waits outlast any test."""
    return Patience(4, lambda: Backoff(300, 300, random.Random(1)))


def wired(base_url: str, api_mode: ApiMode = "chat_completions", **options: Any) -> ModelChoice:
    """A model at `base_url`, in the protocol's usual dialect."""
    dialect = Dialect(auth="x-api-key") if api_mode == "anthropic_messages" else Dialect()
    return choice_for(base_url, api_mode=api_mode, **{"api_key": KEY, "dialect": dialect, **options})


@dataclass
class Connections:
    """Makes a provider for each choice once, and closes them all."""

    made: dict[ModelChoice, Provider] = field(default_factory=dict)
    lessons: Lessons = field(default_factory=Lessons)

    def __call__(self, choice: ModelChoice) -> Provider:
        if choice not in self.made:
            self.made[choice] = make_provider(choice, self.lessons)
        return self.made[choice]

    def close(self) -> None:
        for provider in self.made.values():
            provider.close()


def pooled(choice: ModelChoice) -> Member:
    """The choice with a pool of its keys, as the factory makes it."""
    keys = [key for key in (choice.api_key, *choice.spare_keys) if key]
    return Member(choice, CredentialPool(choice.provider, keys, "fill_first", PoolState()))


AgentOver = Callable[..., AIAgent]


def agent_over(
    cwd: Path,
    connect: Connections,
    choices: Sequence[ModelChoice],
    windows: Windows | None = None,
    **options: Any,
) -> AIAgent:
    """An agent that asks `choices` in turn; their windows are as they say, where nobody else knows more."""
    route = Route([pooled(choice) for choice in choices], connect, connect.lessons, windows)
    options.setdefault("patience", quick())
    return make_agent(cwd, provider=connect(choices[0]), route=route, **options)
