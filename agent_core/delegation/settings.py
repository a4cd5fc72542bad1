"""What an agent needs to know to have sub-agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.settings.sections import DelegationPart
from tools.context import DelegationLimits
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.loop import Target
    from agent_core.workspace import Workspace


@dataclass(frozen=True, slots=True)
class DelegationSettings:
    """What is set about the sub-agents of one agent.

    Attributes:
        part: what the user says.
        depth: how many agents are above this one; 0 for a session's own.
        target_of: the models behind a name as provider:model, and how much they think; it raises AuthRequired or
            SettingsError. None where only the parent's own model can be asked.
        workspace_at: a workspace like a given one, with other directories, the first one its own; to be closed. None
            where there are no copies.
        copies: where copies are made.
    """

    part: DelegationPart = field(default_factory=DelegationPart)
    depth: int = 0
    target_of: Callable[[str], Target] | None = None
    workspace_at: Callable[[Workspace, tuple[Path, ...]], Workspace] | None = None
    copies: Path | None = None

    @property
    def limits(self) -> DelegationLimits:
        """How much may be delegated, as the model is told."""
        part = self.part
        return DelegationLimits(
            at_once=part.max_concurrent_children,
            orchestrators=part.orchestrator_enabled and self.depth + 1 < part.max_spawn_depth,
            # What goes on behind a sub-agent would have nobody to be told of it.
            background=self.depth == 0 and part.max_background_children > 0,
            models=part.models if self.target_of is not None else (),
        )

    def missing_tools(self) -> tuple[str, ...]:
        """Names of tools that this agent has nothing to work with for."""
        return () if self.depth < self.part.max_spawn_depth else ("delegate_task",)

    def below(self) -> DelegationSettings:
        """The settings of its sub-agents."""
        return replace(self, depth=self.depth + 1)
