"""One turn while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field

from agent_core.asking.route import Route, TurnRoute
from agent_core.budget import IterationBudget
from agent_core.callbacks import AgentCallbacks
from agent_core.calls.repeats import Repeats
from agent_core.compaction.engine import Compaction
from agent_core.interrupt import CancelToken
from agent_core.providers.base import Usage
from agent_core.turn.history import TurnHistory
from agent_core.turn.result import TurnUsage, add_usage, no_usage
from agent_core.turn.steering import Steering
from agent_core.verifying.loose_ends import LooseEnds
from tools.light_dataclass import dataclass


@dataclass(slots=True)
class Turn:
    """What one turn has to hand.

    Attributes:
        task_id: names the turn's work for tools.
        system: the system prompt.
        planned: the route that `route` was begun on.
        cost: US dollars so far; None once a price or a count was not known.
        continuations: how often the model was asked to go on at the output limit.
        keeps: stores a compression of the history; None where the history is not the stored one.
        repeats: what the model does again and again.
        began: seconds since the epoch.
        closing: the budget is spent, and the model is asked for its last words alone.
        told_unread: the model was told that a tool call in its text cannot be read.
        loose_ends: what it would leave undone if it ended now.
        renew: builds the system prompt again, for a window of another size; None where it is not the agent's own.
    """

    id: str
    task_id: str
    system: str
    token: CancelToken
    budget: IterationBudget
    history: TurnHistory
    planned: Route
    route: TurnRoute
    callbacks: AgentCallbacks
    keeps: Callable[[Compaction], bool] | None = None
    usage: TurnUsage = field(default_factory=no_usage)
    cost: float | None = 0.0
    continuations: int = 0
    closing: bool = False
    began: float = field(default_factory=time.time)
    steering: Steering = field(default_factory=Steering)
    repeats: Repeats = field(default_factory=Repeats)
    told_unread: bool = False
    loose_ends: LooseEnds = field(default_factory=LooseEnds)
    renew: Callable[[], str] | None = None

    def count(self, usage: Usage, cost: float | None) -> None:
        """Add what one request used."""
        add_usage(self.usage, usage)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
