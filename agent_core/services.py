"""The agent's side of `AgentServices`: what tools reach that outlasts one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tools.context import TodoItem

PlanListener = Callable[[tuple[TodoItem, ...]], None]


class SessionServices:
    """One session's services; `on_plan` is told of each new plan. Implements `AgentServices`."""

    def __init__(self, on_plan: PlanListener | None = None) -> None:
        self._plan: tuple[TodoItem, ...] = ()
        self.on_plan = on_plan

    def todos(self) -> Sequence[TodoItem]:
        """The plan as it stands."""
        return self._plan

    def set_todos(self, items: Sequence[TodoItem]) -> None:
        """Replace the plan and show it."""
        self._plan = tuple(items)
        if self.on_plan is not None:
            self.on_plan(self._plan)
