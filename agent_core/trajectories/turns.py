"""A turn of an agent as a run to keep."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agent_core.home import find_home

if TYPE_CHECKING:
    from pathlib import Path

    from agent_core.services import SessionServices
    from agent_core.trajectories.log import Runs
    from agent_core.turn.turn import Turn


def log_for(wanted: Runs | bool) -> Runs | None:
    """The log that is wanted: True is the one in the user's home, False none."""
    if not isinstance(wanted, bool):
        return wanted
    if not wanted:
        return None
    from agent_core.trajectories.log import TrajectoryLog  # noqa: PLC0415 - few people train models

    return TrajectoryLog(find_home(os.environ).trajectories)


def keep(
    log: Runs | None,
    turn: Turn,
    services: SessionServices,
    *,
    session_id: str,
    cwd: Path,
    system: str | None,
    outcome: str,
    note: str,
) -> None:
    """Have a turn that is over written to `log`, if there is one and the turn has come to anything.

    Args:
        system: what stood in place of the session's own system prompt.
        outcome: the stop reason, or «error» with the `note` that the person was told.
    """
    # What the model is not shown again has happened all the same.
    messages = (*turn.history.messages, *turn.history.withdrawn)
    if log is None or len(messages) <= turn.history.start:
        return
    from agent_core.trajectories.log import Run  # noqa: PLC0415 - few people train models

    log.add(
        Run(
            session_id=session_id,
            turn_id=turn.id,
            cwd=str(cwd),
            model=turn.route.choice.name,
            messages=messages,
            system=system or services.system,
            tools=services.tools,
            outcome=outcome or "error",
            note=note,
            began=turn.began,
            ended=time.time(),
            api_calls=turn.budget.used,
            usage=turn.usage,
            cost=turn.cost,
        )
    )
