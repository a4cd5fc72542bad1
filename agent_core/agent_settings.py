"""What is set about an agent's turns, in one piece: from the user's settings to whoever goes by it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Self

from agent_core.guardrails import Thresholds
from agent_core.model_request.caller import Patience
from agent_core.providers.base import CacheTtl
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.settings.model import Settings


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Of an agent and its sub-agents.

    Attributes:
        cache_ttl: how long servers should keep the conversation's beginning, where they let us choose.
        patience: how long one request is tried.
        guardrails: when a model that goes round in circles is warned and stopped.
        verify_on_stop: before a turn ends that leaves something undone (edits without a check that passed, an open
            plan, a step that was only announced), the model is told so once.
    """

    cache_ttl: CacheTtl = "5m"
    patience: Patience = field(default_factory=Patience)
    guardrails: Thresholds = field(default_factory=Thresholds)
    verify_on_stop: bool = True

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """As the user's settings have it."""
        return cls(
            cache_ttl=settings.prompt_caching.cache_ttl,
            patience=Patience(settings.agent.api_max_retries),
            guardrails=Thresholds.of(settings.tool_loop_guardrails),
            verify_on_stop=settings.agent.verify_on_stop,
        )
