"""Leaving plan mode: the plan is shown to the person, whose answer says in which mode the session goes on."""

from __future__ import annotations

from typing import Literal

from tools.approval.actions import LeavePlan
from tools.approval.approvals import Approvals
from tools.approval.policy import Mode
from tools.approval.questions import Question
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

PLAN_NOTE = (
    "[Plan mode is on: read and think, change nothing. Commands run read-only and without network, and where no "
    "sandbox can hold them to that, only those that surely change nothing. "
    "Ask what is unclear. When the plan is complete, call exit_plan_mode with it. "
    "Plan mode is over once that says so, or with a later prompt without this note.]"
)
"""What the model is told with a prompt that is sent in plan mode."""

_OF_A_SUB_AGENT = (
    "[Plan mode is on: read and think, change nothing. Commands run read-only and without network, and where no "
    "sandbox can hold them to that, only those that surely change nothing. "
    "Report what you found, and what you would change.]"
)


def plan_note(approvals: Approvals) -> str:
    """What a model is told with its prompt of the session's mode; '' where it need not be told anything."""
    if approvals.mode != "plan":
        return ""
    return _OF_A_SUB_AGENT if approvals.asker else PLAN_NOTE


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What came of a plan.

    Attributes:
        outcome: `elsewhere`: the session is not in plan mode, or the person left it without an answer.
        mode: the mode that the session is in now, where the plan was approved; else None.
        words: what the person wants changed.
        note: why it was rejected although nobody said so (time-out, disconnect).
    """

    outcome: Literal["approved", "rejected", "elsewhere"]
    mode: Mode | None = None
    words: str = ""
    note: str = ""


def propose(approvals: Approvals, plan: str, tool_call_id: str, interrupt: Interrupt) -> PlanAnswer:
    """Show `plan` (Markdown) to the person on the card of the call; on a yes the session's mode changes.

    Raises:
        ToolInterrupted: the turn is over.
    """
    answer = None
    while answer is None:
        seen = approvals.changes
        if approvals.mode != "plan":
            return PlanAnswer("elsewhere")
        is_shown_always = approvals.edits == "ask"
        question = Question(tool_call_id, LeavePlan(plan), "", no_explains=True, shows_edits=is_shown_always)
        answer = approvals.put(question, interrupt, seen, lambda: approvals.mode != "plan")
    if not answer.allowed:
        return PlanAnswer("rejected", words=answer.words, note=answer.note)
    mode = answer.mode or "default"
    return PlanAnswer("approved", mode) if approvals.choose(mode, before="plan") else PlanAnswer("elsewhere")
