"""A plan before the person: what their answer makes of the mode."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.waiting import wait_until
from tools.approval.actions import LeavePlan
from tools.approval.approvals import Approvals, PlanAnswer, propose
from tools.approval.policy import Rules
from tools.approval.questions import Answer
from tools.errors import ToolInterrupted

PLAN = "1. Look\n2. Change"


@dataclass
class Person:
    """Gives `answer`; with None waits until the question ends otherwise."""

    answer: Answer | None
    asked: list = field(default_factory=list)

    def ask(self, question, interrupt):
        self.asked.append(question)
        if self.answer is None:
            interrupt.wait_for(lambda: False, 10)
            raise ToolInterrupted
        return self.answer


def _approvals(answer, mode="plan"):
    return Approvals(Rules(roots=(Path("/srv"),)), mode, Person(answer))


@pytest.mark.parametrize("mode", ["default", "accept_edits"])
def test_a_yes_goes_on_in_the_mode_that_was_chosen(mode):
    approvals = _approvals(Answer(allowed=True, mode=mode))

    assert propose(approvals, PLAN, "call-1", CancelToken()) == PlanAnswer("approved", mode)
    assert approvals.mode == mode
    [question] = approvals.approver.asked
    assert (question.tool_call_id, question.action) == ("call-1", LeavePlan(PLAN))
    assert (question.reaches, question.no_lasts, question.no_explains) == ((), False, True)


def test_it_is_said_with_the_question_that_every_edit_is_shown_anyway():
    approvals = _approvals(Answer(allowed=True))
    approvals.edits = "ask"
    propose(approvals, PLAN, "call-1", CancelToken())
    assert approvals.approver.asked[0].shows_edits


def test_a_mode_is_changed_from_the_one_that_it_must_be_only():
    approvals = _approvals(None, "default")
    assert not approvals.choose("accept_edits", before="plan")
    assert approvals.mode == "default"


def test_a_yes_without_a_mode_goes_on_in_the_careful_one():
    assert propose(_approvals(Answer(allowed=True)), PLAN, "call-1", CancelToken()).mode == "default"


@pytest.mark.parametrize(
    "answer",
    [Answer(allowed=False), Answer(allowed=False, words="Smaller."), Answer(allowed=False, note="no answer")],
)
def test_a_no_keeps_the_mode_and_the_words(answer):
    approvals = _approvals(answer)

    told = propose(approvals, PLAN, "call-1", CancelToken())

    assert told == PlanAnswer("rejected", words=answer.words, note=answer.note)
    assert approvals.mode == "plan"


@pytest.mark.parametrize("mode", ["default", "accept_edits", "dont_ask"])
def test_outside_of_plan_mode_nobody_is_asked(mode):
    approvals = _approvals(Answer(allowed=True, mode="accept_edits"), mode)

    assert propose(approvals, PLAN, "call-1", CancelToken()) == PlanAnswer("elsewhere")
    assert approvals.mode == mode
    assert approvals.approver.asked == []


def test_a_person_who_changes_the_mode_instead_withdraws_the_question():
    approvals, told = _approvals(None), []
    thread = threading.Thread(target=lambda: told.append(propose(approvals, PLAN, "call-1", CancelToken())))
    thread.start()
    wait_until(lambda: bool(approvals.approver.asked))

    approvals.mode = "dont_ask"
    thread.join(10)

    assert told == [PlanAnswer("elsewhere")]
    assert approvals.mode == "dont_ask"


def test_a_yes_that_comes_with_a_change_of_the_mode_does_not_undo_it():
    approvals = _approvals(None)

    class Late:
        def ask(self, question, interrupt):
            approvals.mode = "dont_ask"
            return Answer(allowed=True, mode="default")

    approvals.approver = Late()

    assert propose(approvals, PLAN, "call-1", CancelToken()) == PlanAnswer("elsewhere")
    assert approvals.mode == "dont_ask"


def test_after_a_cancel_the_mode_stays():
    approvals, token = _approvals(Answer(allowed=True, mode="default")), CancelToken()
    token.cancel()

    with pytest.raises(ToolInterrupted):
        propose(approvals, PLAN, "call-1", token)
    assert approvals.mode == "plan"
