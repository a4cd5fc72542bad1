"""What a turn would leave undone if it ended now, and what the model is told of that: once for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from agent_core.messages import ToolCall, parse_arguments
from agent_core.verifying.edits import UncheckedEdits
from tools.context import TodoItem
from tools.light_dataclass import dataclass
from tools.result import ToolResult

Kind = Literal["unchecked", "failed", "plan", "announced"]

_ENOUGH_LEFT = 3
"""Requests that a nudge needs: the step, what it shows, the last word."""
_MOST_ITEMS, _LONGEST_ITEM = 5, 80
_OPEN = frozenset({"pending", "in_progress"})

_TOLD: dict[Kind, str] = {
    "unchecked": "Code was changed and not checked: the model is asked to check it.",
    "failed": "The last check failed: the model is asked to look into it.",
    "plan": "The plan has open items: the model is asked to finish them.",
    "announced": "The model announced a step and did not take it: it is asked to go on.",
}


@dataclass(frozen=True, slots=True)
class Nudge:
    """What the model is told, and in short what the person is."""

    text: str
    told: str


@dataclass(slots=True)
class LooseEnds:
    """Watches the calls of one turn. Not safe for several threads: the loop of the turn uses it.

    Attributes:
        wanted: whether the model is to be told of anything.
        checks_wanted: whether it is to be told of checks: the person may have asked not to run any.
        edits: what it has edited and checked.
    """

    wanted: bool = True
    checks_wanted: bool = True
    edits: UncheckedEdits = field(default_factory=UncheckedEdits)
    _told: set[Kind] = field(default_factory=set)
    _has_planned: bool = False
    _was_refused: bool = False

    def see(self, call: ToolCall, result: ToolResult) -> None:
        """Take down what a call did; in the order of the answer's calls."""
        self._was_refused = self._was_refused or result.denied
        self._has_planned = self._has_planned or (not result.failed and _plans(call))
        self.edits.see(call, result)

    def nudge(
        self, text: str, plan: Sequence[TodoItem], left: int, *, can_check: bool, is_awaited: bool
    ) -> Nudge | None:
        """What the model is told now, which counts as told; None where the turn may end with `text`.

        Args:
            left: how many requests the turn has.
            can_check: it has a tool for commands.
            is_awaited: something runs in the background whose end will be told.
        """
        if not self.wanted or self._was_refused or left < _ENOUGH_LEFT:
            return None
        from agent_core.verifying import final_text  # noqa: PLC0415 - not before the first turn ends

        if final_text.asks_person(text):
            return None
        found: dict[Kind, str] = {}
        if can_check and self.checks_wanted:
            found |= self._unchecked(explained=final_text.explains_failure(text))
        still_open = [item.content for item in plan if item.status in _OPEN]
        if still_open and self._has_planned and not is_awaited:
            found["plan"] = _of_plan(still_open)
        if not is_awaited and (step := final_text.announced_step(text)):
            found["announced"] = (
                f"Your message ends with “{step}”, but it calls no tool, so nothing was done. Take that step now "
                "with a tool call; if it is not needed, give your final answer."
            )
        new = [kind for kind in found if kind not in self._told]
        if not new:
            return None
        self._told.update(new)
        words = " ".join(found[kind] for kind in new)
        return Nudge(
            f"[Not from the user. {words} Do not repeat what you have said already.]",
            " ".join(_TOLD[kind] for kind in new),
        )

    def _unchecked(self, *, explained: bool) -> dict[Kind, str]:
        edits, failed = self.edits, self.edits.failed
        if failed is None:
            return {"unchecked": _of_edits(edits.unchecked)} if edits.unchecked else {}
        # Who was only asked to run something has done so.
        if not edits.has_any or explained:
            return {}
        since = f" You changed {edits.unchecked} since and have not run it again." if edits.unchecked else ""
        return {
            "failed": (
                f"The last check failed: `{failed.command}` ({failed.how}).{since} Fix what it shows and run it "
                "again; if that is not possible or not part of the task, say in one sentence what fails and why."
            )
        }


def _plans(call: ToolCall) -> bool:
    """Whether a call has written the plan, not only asked for it."""
    if call["function"]["name"] != "todo":
        return False
    try:
        return parse_arguments(call["function"]["arguments"]).get("todos") is not None
    except ValueError:
        return False


def _of_edits(names: str) -> str:
    return (
        f"You changed code in this turn ({names}) and have run nothing since that shows whether it works. Run the "
        "narrowest check that covers it (its tests, a type check, a build, or the code itself) and fix what it "
        "shows. If no check is possible or needed, say in one sentence why."
    )


def _of_plan(items: Sequence[str]) -> str:
    names = "; ".join(
        f"“{item if len(item) <= _LONGEST_ITEM else f'{item[:_LONGEST_ITEM]}…'}”" for item in items[:_MOST_ITEMS]
    )
    more = f" and {len(items) - _MOST_ITEMS} more" if len(items) > _MOST_ITEMS else ""
    return (
        f"Your plan has open items: {names}{more}. Go on with them. Those that are done or no longer needed, mark "
        "completed or cancelled with todo; if something keeps you from going on, say what."
    )
