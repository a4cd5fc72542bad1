"""The services of a turn, for tests of tools that use them."""

from __future__ import annotations

from agent_core.callbacks import AgentCallbacks
from agent_core.services import SessionServices, TurnServices
from tools.approval.approvals import Approvals
from tools.approval.policy import Rules


def turn_services(
    session: SessionServices | None = None,
    callbacks: AgentCallbacks | None = None,
    approvals: Approvals | None = None,
) -> TurnServices:
    """Services with nobody to ask, unless `approvals` has somebody."""
    return TurnServices(
        session or SessionServices(), approvals or Approvals(Rules(roots=())), callbacks or AgentCallbacks()
    )
