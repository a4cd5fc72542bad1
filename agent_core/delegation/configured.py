"""What the user's settings say of sub-agents."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.asking.route import Route
from agent_core.config import Configuration
from agent_core.delegation.settings import DelegationSettings
from agent_core.providers.choice import ModelChoice
from agent_core.providers.knowledge.efforts import effort_in_use
from agent_core.providers.knowledge.present import resolve_chosen
from agent_core.turn_loop import Target


def delegation_settings(config: Configuration, route_of: Callable[[ModelChoice], Route]) -> DelegationSettings:
    """The settings of a session's own agent.

    Args:
        route_of: the models that are asked in turn, a given one first.
    """
    part = config.settings.delegation

    def target_of(name: str) -> Target:
        choice = resolve_chosen(config, name)
        effort = part.reasoning_effort or config.settings.agent.reasoning_effort
        return Target(route_of(choice), effort_in_use(None, effort, choice))

    return DelegationSettings(part, target_of=target_of)
