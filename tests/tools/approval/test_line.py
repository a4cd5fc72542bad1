"""Calls that run side by side ask in their order, whatever their threads do."""

import pytest

from tests.support.gate_calls import EDIT, YES, Calls, Case, SlowApprover
from tests.support.waiting import wait_until
from tools.approval.questions import Answer, Line

IDS = ["call-0", "call-1", "call-2"]


def _asked(case: Case) -> list[str]:
    return [question.tool_call_id for question in case.approvals.approver.asked]


def _backwards(case: Case) -> list[Calls]:
    """The calls arrive at the gate last first."""
    begun = []
    for number in (2, 1, 0):
        begun.append(Calls(case, EDIT, first=number))
        wait_until(lambda: case.approvals.waiting + len(_asked(case)) == len(begun))
    return begun


def test_the_questions_of_a_batch_come_in_the_order_of_its_calls():
    case = Case(SlowApprover(YES))
    with case.approvals.in_order(IDS):
        for calls in _backwards(case):
            calls.end()
    assert _asked(case) == IDS


def test_without_a_line_they_come_as_they_arrive():
    case = Case(SlowApprover(YES))
    for calls in _backwards(case):
        calls.end()
    assert _asked(case) == IDS[::-1]


def test_a_call_that_asks_no_more_lets_those_after_it_ask():
    case = Case(SlowApprover(YES))
    with case.approvals.in_order(IDS):
        last = Calls(case, EDIT, first=2)
        wait_until(lambda: case.approvals.waiting == 1)
        case.approvals.asks_no_more("call-1")
        case.approvals.asks_no_more("call-0")
        assert last.end() == ["allowed"]
    assert _asked(case) == ["call-2"]


def test_a_call_that_needs_no_question_waits_for_nobody():
    case = Case(SlowApprover(), "accept_edits")
    with case.approvals.in_order(IDS):
        assert Calls(case, EDIT, first=2).end() == ["allowed"]
    assert _asked(case) == []


def test_nor_does_one_that_an_earlier_answer_has_decided():
    case = Case(SlowApprover())
    with case.approvals.in_order(IDS):
        calls = Calls(case, EDIT, EDIT, EDIT)
        wait_until(lambda: len(_asked(case)) == 1)
        case.approvals.approver.answer = Answer(allowed=True, scope="session")
        case.token.notify()
        assert calls.end() == ["allowed"] * 3
    assert _asked(case) == ["call-0"]


def test_the_cancel_ends_the_wait_in_the_line():
    case = Case(SlowApprover())
    with case.approvals.in_order(IDS):
        last = Calls(case, EDIT, first=2)
        wait_until(lambda: case.approvals.waiting == 1)
        case.token.cancel()
        assert last.end() == ["ToolInterrupted"]


def test_who_is_left_when_the_line_is_over_may_ask():
    case = Case(SlowApprover(YES))
    with case.approvals.in_order(IDS):
        last = Calls(case, EDIT, first=2)
        wait_until(lambda: case.approvals.waiting == 1)
    assert last.end() == ["allowed"]


class TestLine:
    @pytest.fixture
    def moves(self):
        return []

    @pytest.fixture
    def line(self, moves):
        return Line(lambda: moves.append(1))

    def test_only_the_first_may_ask(self, line, moves):
        with line.in_order(["a", "b"]):
            assert (line.may_ask("a"), line.may_ask("b"), line.may_ask("other")) == (True, False, True)
            line.leave("a")
            assert line.may_ask("b")
        assert len(moves) == 2

    def test_two_lines_know_nothing_of_each_other(self, line):
        with line.in_order(["a", "b"]), line.in_order(["c", "d"]):
            assert (line.may_ask("c"), line.may_ask("d")) == (True, False)
            line.leave("a")
            assert (line.may_ask("b"), line.may_ask("d")) == (True, False)

    def test_who_leaves_twice_or_was_never_there_changes_nothing(self, line, moves):
        with line.in_order(["a", "b"]):
            line.leave("a")
            line.leave("a")
            line.leave("x")
            assert line.may_ask("b")
            assert len(moves) == 1
