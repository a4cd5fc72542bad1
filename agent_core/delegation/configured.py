"""What the user's settings say of sub-agents."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_core.asking.route import Route
from agent_core.config import Configuration
from agent_core.delegation.copies import tidy_copies
from agent_core.delegation.settings import DelegationSettings
from agent_core.home import user_cache
from agent_core.providers.available_models import resolve_chosen
from agent_core.providers.choice import ModelChoice
from agent_core.providers.resolve import effort_in_use
from agent_core.turn.loop import Target
from agent_core.workspaces import Workspaces


def copies_directory(variables: Mapping[str, str]) -> Path:
    """Where copies of work trees are made: in the user's cache, since no command sees the home of this program."""
    return user_cache(variables) / "copies"


def tidy_left_over() -> None:
    """Remove the copies that a crash has left. Blocks for a moment where there are some."""
    tidy_copies(copies_directory(os.environ))


def delegation_settings(
    config: Configuration, workspaces: Workspaces, route_of: Callable[[ModelChoice], Route]
) -> DelegationSettings:
    """The settings of a session's own agent.

    Args:
        workspaces: who makes those at copies.
        route_of: the models that are asked in turn, a given one first.
    """
    part = config.settings.delegation

    def target_of(name: str) -> Target:
        choice = resolve_chosen(config, name)
        effort = part.reasoning_effort or config.settings.agent.reasoning_effort
        return Target(route_of(choice), effort_in_use(None, effort, choice))

    return DelegationSettings(
        part, target_of=target_of, workspace_at=workspaces.at_copy, copies=copies_directory(config.environ)
    )
