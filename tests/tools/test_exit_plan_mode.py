"""`exit_plan_mode`: what the model is told of the person's answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tools.exit_plan_mode  # registers the tool
from tests.support.tool_context import PlanInMemory, call, error_of, make_context, payload
from tools.approval.approvals import PlanAnswer
from tools.ports import Interrupt
from tools.registry import registry
from tools.result import ShownText

PLAN = "1. Look\n2. Change"


@dataclass
class Person(PlanInMemory):
    """The agent's services with a person who answers."""

    answer: PlanAnswer = field(default_factory=lambda: PlanAnswer("elsewhere"))
    asked: list[tuple[str, str]] = field(default_factory=list)

    def leave_plan(self, plan: str, tool_call_id: str, interrupt: Interrupt) -> PlanAnswer:
        self.asked.append((plan, tool_call_id))
        return self.answer


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        ("default", "Begin with the plan now: each edit is shown to the user first."),
        ("accept_edits", "Begin with the plan now: files are edited without asking."),
    ],
)
def test_an_approved_plan_tells_the_mode_and_to_begin(tmp_path: Path, mode, told):
    agent = Person(answer=PlanAnswer("approved", mode))
    result = call(make_context(tmp_path, "plan", agent=agent), "exit_plan_mode", plan=PLAN)
    assert payload(result) == {"approved": True, "mode": mode, "next": told}
    assert result.shown == (ShownText(PLAN),)
    assert agent.asked == [(PLAN, "call-1")]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (PlanAnswer("rejected", words="Smaller steps."), "said: «Smaller steps.»"),
        (PlanAnswer("rejected"), "the user said no"),
        (PlanAnswer("rejected", note="no answer within 5 seconds"), "no answer within 5 seconds"),
        (PlanAnswer("elsewhere"), "not in plan mode"),
    ],
)
def test_whatever_else_is_an_error_that_says_how_to_go_on(tmp_path: Path, answer, told):
    result = call(make_context(tmp_path, "plan", agent=Person(answer=answer)), "exit_plan_mode", plan=PLAN)
    assert told in error_of(result)
    assert answer.outcome == "elsewhere" or "stays in plan mode" in error_of(result)


@pytest.mark.parametrize("plan", ["", "  \n", None, ["a"], "x" * 50_001])
def test_what_is_no_plan_is_not_shown(tmp_path: Path, plan):
    agent = Person(answer=PlanAnswer("approved", "default"))
    error_of(call(make_context(tmp_path, "plan", agent=agent), "exit_plan_mode", plan=plan))
    assert agent.asked == []


def test_without_an_agent_there_is_no_plan_mode(tmp_path: Path):
    assert "running agent" in error_of(call(make_context(tmp_path), "exit_plan_mode", plan=PLAN))


def test_it_belongs_to_the_planning_tools():
    entry = registry.get("exit_plan_mode")
    assert entry is not None
    assert (entry.toolset, entry.parallel) == ("planning", "never")
    assert entry.handler is tools.exit_plan_mode.exit_plan_mode


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (PlanAnswer("rejected"), "Rejected."),
        (PlanAnswer("rejected", note="the question was dismissed"), "Rejected: the question was dismissed."),
        (PlanAnswer("rejected", words="Less."), 'Rejected. You said: "Less."'),
    ],
)
def test_on_the_card_a_refusal_is_short_and_the_advice_goes_to_the_model(
    answer: PlanAnswer, shown: str, tmp_path: Path
) -> None:
    result = call(make_context(tmp_path, agent=Person(answer=answer)), "exit_plan_mode", plan=PLAN)
    assert result.shown == (ShownText(shown),)
    assert "plan mode" in error_of(result)
