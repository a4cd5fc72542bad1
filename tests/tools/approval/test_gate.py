"""The gate: asks when the policy says so, once, and tells the model what a refusal means."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_core.interrupt import CancelToken
from tests.support.tool_context import ScriptedApprover
from tests.support.waiting import wait_until
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.gate import Answer, Approvals, Gate
from tools.approval.policy import Rules
from tools.errors import Denied, ToolInterrupted

ROOT = Path("/srv/project")
EDIT = WritePath(ROOT / "a.py", b"1", b"2", shown=ROOT / "a.py")
READ_INSIDE = ReadPath(ROOT / "a.py")


class Case:
    """A session's approvals, with a gate for each call."""

    def __init__(self, approver=None, mode="default"):
        self.token = CancelToken()
        self.allowed = 0
        self.approvals = Approvals(Rules(roots=(ROOT,)), mode)
        if approver is not None:
            self.approvals.approver = approver

    def gate(self, call="call-1"):
        return Gate(self.approvals, call, self.token, on_allowed=self._count)

    def _count(self, action):
        self.allowed += 1


def test_what_the_policy_allows_is_not_asked():
    approver = ScriptedApprover("reject_once")
    case = Case(approver)

    case.gate().authorize(READ_INSIDE)

    assert approver.asked == []
    assert case.allowed == 1


def test_the_question_names_the_call_the_action_and_the_reason():
    questions = []

    class Listener:
        def ask(self, question, interrupt):
            questions.append((question, interrupt))
            return Answer("allow_once")

    case = Case(Listener())
    case.gate("call-7").authorize(EDIT)

    [(question, interrupt)] = questions
    assert (question.tool_call_id, question.action, question.reason) == ("call-7", EDIT, "")
    assert interrupt is case.token


def test_allowed_once_means_once():
    approver = ScriptedApprover("allow_once")
    case = Case(approver)

    case.gate().authorize(EDIT)
    case.gate().authorize(EDIT)

    assert len(approver.asked) == 2
    assert case.allowed == 2


def test_allowed_for_the_session_is_not_asked_again_by_any_call():
    approver = ScriptedApprover("allow_session")
    case = Case(approver)

    case.gate("call-1").authorize(EDIT)
    case.gate("call-2").authorize(WritePath(EDIT.path, b"2", b"3", shown=EDIT.path))

    assert len(approver.asked) == 1


def test_a_yes_to_reading_a_path_lasts_for_the_call_and_no_longer():
    approver = ScriptedApprover("allow_once")
    case = Case(approver)
    outside = ReadPath(Path("/srv/data"))
    gate = case.gate("call-1")

    gate.authorize(outside)
    gate.authorize(outside)
    assert len(approver.asked) == 1

    case.gate("call-2").authorize(outside)
    assert len(approver.asked) == 2


def test_whoever_runs_the_call_learns_of_each_action_that_was_allowed():
    seen = []
    case = Case(ScriptedApprover("allow_once"))

    Gate(case.approvals, "call-1", case.token, on_allowed=seen.append).authorize(EDIT)

    assert seen == [EDIT]


def test_a_no_is_told_so_that_the_model_does_not_try_another_way():
    case = Case(ScriptedApprover("reject_once"))

    with pytest.raises(Denied, match=r"edit .*a\.py.*the user said no.*Do not try"):
        case.gate().authorize(EDIT)

    assert case.allowed == 0


def test_a_no_is_not_remembered():
    approver = ScriptedApprover("reject_once")
    case = Case(approver)
    with pytest.raises(Denied):
        case.gate().authorize(EDIT)

    approver.choice = "allow_once"
    case.gate().authorize(EDIT)

    assert case.allowed == 1


def test_without_a_person_what_must_be_asked_is_refused_with_the_cause():
    with pytest.raises(Denied, match="nobody to ask"):
        Case().gate().authorize(EDIT)


def test_the_forbidden_is_refused_without_a_question():
    approver = ScriptedApprover("allow_once")

    with pytest.raises(Denied, match="No mode allows it"):
        Case(approver, "dont_ask").gate().authorize(RunCommand("rm -rf /", ROOT))

    assert approver.asked == []


def test_after_the_cancel_nothing_is_allowed_any_more():
    case = Case(mode="dont_ask")
    case.token.cancel()

    with pytest.raises(ToolInterrupted):
        case.gate().authorize(READ_INSIDE)
    assert case.allowed == 0


@pytest.mark.parametrize("choice", ["allow_once", "allow_session", "reject_once"])
def test_an_answer_that_comes_after_the_cancel_counts_for_nothing(choice):
    approver = ScriptedApprover(choice)
    case = Case(approver)
    approver.before_answer = case.token.cancel

    with pytest.raises(ToolInterrupted):
        case.gate().authorize(EDIT)

    assert case.allowed == 0
    assert not case.approvals.grants.covers(EDIT)


def test_a_changed_mode_counts_from_the_next_action_on():
    approver = ScriptedApprover("reject_once")
    case = Case(approver)

    case.approvals.mode = "accept_edits"
    case.gate().authorize(EDIT)

    assert approver.asked == []


@dataclass
class SlowApprover:
    """Holds every question until it is released."""

    choice: str
    release: threading.Event = field(default_factory=threading.Event)
    asked: list = field(default_factory=list)

    def ask(self, question, interrupt):
        self.asked.append(question)
        interrupt.wait_for(self.release.is_set, 10)
        return Answer(self.choice)


def _authorize_in_threads(case, count):
    outcomes = []

    def work(number):
        try:
            case.gate(f"call-{number}").authorize(EDIT)
            outcomes.append("allowed")
        except (Denied, ToolInterrupted) as problem:
            outcomes.append(type(problem).__name__)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads, outcomes


def test_parallel_calls_are_spared_the_question_by_the_first_always():
    approver = SlowApprover("allow_session")
    case = Case(approver)
    threads, outcomes = _authorize_in_threads(case, 5)
    wait_until(lambda: bool(approver.asked))

    approver.release.set()
    case.token.notify()
    for thread in threads:
        thread.join()

    assert len(approver.asked) == 1
    assert outcomes == ["allowed"] * 5


def test_a_cancel_ends_every_waiting_call_and_asks_no_more():
    approver = SlowApprover("allow_once")
    case = Case(approver)
    threads, outcomes = _authorize_in_threads(case, 5)
    wait_until(lambda: bool(approver.asked))

    case.token.cancel()
    for thread in threads:
        thread.join()

    assert len(approver.asked) == 1
    assert outcomes == ["ToolInterrupted"] * 5
    assert case.allowed == 0
