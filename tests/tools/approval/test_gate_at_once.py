"""The gate when several calls ask, or something changes while a question is open."""

import threading

import pytest

from tests.support.gate_calls import DANGEROUS, EDIT, NO, YES, Calls, Case, SlowApprover
from tests.support.waiting import wait_until
from tools.approval.questions import Answer


def _asked(case):
    return len(case.approvals.approver.asked)


def _answer(case, answer):
    case.approvals.approver.answer = answer
    case.token.notify()


def test_parallel_calls_are_spared_the_question_by_the_first_always():
    case = Case(SlowApprover())
    calls = Calls(case, *[EDIT] * 5)
    wait_until(lambda: _asked(case) == 1)

    _answer(case, Answer(allowed=True, scope="session"))

    assert calls.end() == ["allowed"] * 5
    assert _asked(case) == 1


def test_parallel_calls_are_refused_by_the_first_always_no():
    case = Case(SlowApprover())
    calls = Calls(case, *[EDIT] * 5)
    wait_until(lambda: _asked(case) == 1)

    _answer(case, Answer(allowed=False, scope="session"))

    assert calls.end() == ["Denied"] * 5
    assert _asked(case) == 1


def test_parallel_calls_are_asked_about_one_after_the_other():
    case = Case(SlowApprover(YES))

    assert Calls(case, *[EDIT] * 5).end() == ["allowed"] * 5
    assert _asked(case) == 5


def test_a_cancel_ends_every_waiting_call_and_asks_no_more():
    case = Case(SlowApprover())
    calls = Calls(case, *[EDIT] * 5)
    wait_until(lambda: _asked(case) == 1)

    case.token.cancel()

    assert calls.end() == ["ToolInterrupted"] * 5
    assert _asked(case) == 1
    assert case.allowed == 0


def test_a_cancel_frees_calls_that_wait_behind_a_question_of_a_turn_that_was_given_up():
    stuck = threading.Event()

    class Deaf:
        asked = 0

        def ask(self, question, interrupt):
            self.asked += 1
            stuck.wait(10)
            return YES

    deaf = Deaf()
    case = Case(deaf)
    given_up = Calls(case, EDIT)
    wait_until(lambda: deaf.asked == 1)
    next_turn = Case(approvals=case.approvals)
    waiting = Calls(next_turn, EDIT)

    next_turn.token.cancel()

    assert waiting.end() == ["ToolInterrupted"]
    stuck.set()
    assert given_up.end() == ["allowed"]


@pytest.mark.parametrize(
    ("mode", "outcome"), [("dont_ask", "allowed"), ("accept_edits", "allowed"), ("plan", "Denied")]
)
def test_a_question_that_another_mode_answers_is_withdrawn(mode, outcome):
    case = Case(SlowApprover())
    calls = Calls(case, EDIT, EDIT)
    wait_until(lambda: _asked(case) == 1)

    case.approvals.mode = mode

    assert calls.end() == [outcome] * 2
    assert _asked(case) == 1


def test_a_question_that_still_has_to_be_asked_stays_when_the_mode_changes():
    case = Case(SlowApprover())
    calls = Calls(case, DANGEROUS)
    wait_until(lambda: _asked(case) == 1)

    case.approvals.mode = "accept_edits"
    case.approvals.edits = "ask"
    _answer(case, YES)

    assert calls.end() == ["allowed"]
    assert _asked(case) == 1


def test_a_call_that_waits_behind_a_question_is_decided_again_when_the_mode_changes():
    case = Case(SlowApprover())
    calls = Calls(case, DANGEROUS)
    wait_until(lambda: _asked(case) == 1)
    behind = Calls(case, EDIT)

    case.approvals.mode = "accept_edits"

    assert behind.end() == ["allowed"]
    _answer(case, NO)
    assert calls.end() == ["Denied"]


def test_mode_and_edit_policy_change_together():
    case = Case(SlowApprover(), "plan")
    seen = []
    case.approvals.on_change(lambda: seen.append((case.approvals.mode, case.approvals.edits)))

    case.approvals.choose("accept_edits", "ask")
    case.approvals.choose("accept_edits", "ask")

    assert seen == [("accept_edits", "ask")]
