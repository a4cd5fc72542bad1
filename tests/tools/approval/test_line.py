"""Calls that run side by side ask in their order, whatever their threads do."""

from agent_core.cancel import CancelToken
from tests.support.gate_calls import EDIT, YES, Calls, Case, SlowApprover
from tests.support.waiting import wait_until
from tools.approval.questions import Answer, QuestionQueue

IDS = ["call-0", "call-1", "call-2"]


def _asked(case: Case) -> list[str]:
    return [question.tool_call_id for question in case.approvals.approver.asked]


def _backwards(case: Case) -> list[Calls]:
    """The calls arrive at the gate last first."""
    begun = []
    for number in (2, 1, 0):
        begun.append(Calls(case, EDIT, first=number))
        wait_until(lambda: case.approvals.queue.waiting + len(_asked(case)) == len(begun))
    return begun


def test_the_questions_of_a_batch_come_in_the_order_of_its_calls():
    case = Case(SlowApprover(YES))
    with case.approvals.queue.in_order(IDS):
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
    with case.approvals.queue.in_order(IDS):
        last = Calls(case, EDIT, first=2)
        wait_until(lambda: case.approvals.queue.waiting == 1)
        case.approvals.queue.leave("call-1")
        case.approvals.queue.leave("call-0")
        assert last.end() == ["allowed"]
    assert _asked(case) == ["call-2"]


def test_a_call_that_needs_no_question_waits_for_nobody():
    case = Case(SlowApprover(), "accept_edits")
    with case.approvals.queue.in_order(IDS):
        assert Calls(case, EDIT, first=2).end() == ["allowed"]
    assert _asked(case) == []


def test_nor_does_one_that_an_earlier_answer_has_decided():
    case = Case(SlowApprover())
    with case.approvals.queue.in_order(IDS):
        calls = Calls(case, EDIT, EDIT, EDIT)
        wait_until(lambda: len(_asked(case)) == 1)
        case.approvals.approver.answer = Answer(allowed=True, scope="session")
        case.token.notify()
        assert calls.end() == ["allowed"] * 3
    assert _asked(case) == ["call-0"]


def test_the_cancel_ends_the_wait_in_the_line():
    case = Case(SlowApprover())
    with case.approvals.queue.in_order(IDS):
        last = Calls(case, EDIT, first=2)
        wait_until(lambda: case.approvals.queue.waiting == 1)
        case.token.cancel()
        assert last.end() == ["ToolInterrupted"]


def test_who_is_left_when_the_line_is_over_may_ask():
    case = Case(SlowApprover(YES))
    with case.approvals.queue.in_order(IDS):
        last = Calls(case, EDIT, first=2)
        wait_until(lambda: case.approvals.queue.waiting == 1)
    assert last.end() == ["allowed"]


def _may_ask(queue, *calls):
    """Which of these calls get the place, none of them waiting for it."""
    may = []
    for call in calls:
        with queue.place(call, CancelToken(), lambda: True) as is_mine:
            may.append(is_mine)
    return may


def test_only_the_first_of_a_batch_may_ask():
    queue = QuestionQueue()
    with queue.in_order(["a", "b"]):
        assert _may_ask(queue, "a", "b", "other") == [True, False, True]
        queue.leave("a")
        queue.leave("a")
        queue.leave("x")
        assert _may_ask(queue, "b") == [True]


def test_two_batches_know_nothing_of_each_other():
    queue = QuestionQueue()
    with queue.in_order(["a", "b"]), queue.in_order(["c", "d"]):
        assert _may_ask(queue, "c", "d") == [True, False]
        queue.leave("a")
        assert _may_ask(queue, "b", "d") == [True, False]
