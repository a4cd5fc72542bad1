"""Who has sub-agents work for the turns of one agent; made turn by turn, and loaded when one is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.delegation.settings import DelegationSettings
    from agent_core.guardrails import Thresholds
    from agent_core.prompt.layers import PromptSettings
    from agent_core.sessions.store import SessionStore
    from agent_core.turn.loop import TurnLoop
    from agent_core.turn.turn import Turn
    from tools.context import Delegation


@dataclass(frozen=True, slots=True)
class DelegationOfTurns:
    """Makes it, of what an agent has; it does not know the agent, which would not be gone with its last user then."""

    store: SessionStore
    prompt: PromptSettings
    guardrails: Thresholds
    verify_on_stop: bool
    settings: DelegationSettings

    def __call__(self, loop: TurnLoop, turn: Turn) -> Delegation:
        """Who has sub-agents work for `turn`."""
        from agent_core.delegation import delegator, making  # noqa: PLC0415 - most turns need no sub-agents

        parent = making.Parent(loop, self.store, self.prompt, self.guardrails, self.verify_on_stop)
        return delegator.TurnDelegation(parent, self.settings, turn)
