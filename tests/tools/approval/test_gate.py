"""The gate: asks when the policy says so, once, and tells the model what a refusal means."""

from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.each import each
from tests.support.gate_calls import DANGEROUS, EDIT, ROOT, YES, Case, SlowApprover
from tests.support.mcp_actions import mcp_call
from tests.support.tool_context import ScriptedApprover
from tools.approval.actions import ReadPath, RunCommand, WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.grants import Grants, KeptGrants
from tools.approval.policy import Confines, Rules
from tools.approval.questions import Answer
from tools.approval.rules import parse_rule
from tools.errors import Denied, ToolInterrupted

READ_INSIDE = ReadPath(ROOT / "a.py")


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
            questions.append(question)
            return YES

    case = Case(Listener())
    case.gate("call-7").authorize(EDIT)
    case.gate("call-8").authorize(DANGEROUS)

    [edit, command] = questions
    assert (edit.tool_call_id, edit.action, edit.reason, edit.is_risky) == ("call-7", EDIT, "", False)
    assert (command.tool_call_id, command.reason, command.is_risky) == ("call-8", "deletes files", True)
    assert edit.no_lasts
    assert edit.no_explains


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


@pytest.mark.parametrize("choice", ["allow_once", "allow_session", "reject_once", "reject_always"])
def test_an_answer_that_comes_after_the_cancel_counts_for_nothing(choice):
    approver = ScriptedApprover(choice)
    case = Case(approver)
    approver.before_answer = case.token.cancel

    with pytest.raises(ToolInterrupted):
        case.gate().authorize(EDIT)

    assert case.allowed == 0
    assert not case.approvals.grants.allows(EDIT)
    assert not case.approvals.grants.refuses(EDIT)


def test_a_changed_mode_counts_from_the_next_action_on():
    approver = ScriptedApprover("reject_once")
    case = Case(approver)

    case.approvals.mode = "accept_edits"
    case.gate().authorize(EDIT)

    assert approver.asked == []


def test_a_yes_does_not_help_in_a_mode_that_denies():
    case = Case()

    class ChangesMind:
        def ask(self, question, interrupt):
            case.approvals.mode = "plan"
            return YES

    case.approvals.approver = ChangesMind()
    with pytest.raises(Denied, match="exit_plan_mode"):
        case.gate().authorize(EDIT)


def test_an_edit_policy_that_asks_offers_no_yes_for_more_than_one_edit():
    case = Case(SlowApprover(Answer(allowed=True, scope="session")), "dont_ask")
    case.approvals.edits = "ask"

    case.gate().authorize(EDIT)
    case.gate().authorize(EDIT)

    assert [question.reaches for question in case.approvals.approver.asked] == [(), ()]


def test_a_scope_that_was_not_offered_is_once():
    case = Case(SlowApprover(Answer(allowed=True, scope="server")))

    case.gate().authorize(EDIT)
    case.gate().authorize(EDIT)

    assert len(case.approvals.approver.asked) == 2


@pytest.mark.parametrize(
    ("scope", "first", "covered"),
    [
        ("directory", EDIT, WritePath(ROOT / "b.py", None, b"x", shown=ROOT / "b.py")),
        ("prefix", RunCommand("make test", ROOT), RunCommand("make test VERBOSE=1", ROOT)),
        ("server", mcp_call("s", "t", "{}"), mcp_call("s", "u", "{}")),
    ],
)
def test_a_wider_yes_is_kept_as_it_was_offered(scope, first, covered):
    case = Case(SlowApprover(Answer(allowed=True, scope=scope)))

    case.gate().authorize(first)
    case.gate().authorize(covered)

    assert len(case.approvals.approver.asked) == 1


def test_an_always_no_is_not_asked_again_and_the_model_is_told_who_said_so():
    case = Case(SlowApprover(Answer(allowed=False, scope="session")))

    with pytest.raises(Denied, match="rest of the session"):
        case.gate().authorize(EDIT)
    case.approvals.mode = "dont_ask"
    with pytest.raises(Denied, match="the user has said no"):
        case.gate().authorize(EDIT)

    assert len(case.approvals.approver.asked) == 1


def test_the_model_is_told_what_the_person_said():
    case = Case(SlowApprover(Answer(allowed=False, words="Use the other file.")))

    with pytest.raises(Denied, match=r"The user said: «Use the other file\.».*do as the user said"):
        case.gate().authorize(EDIT)


@pytest.mark.parametrize("action", [EDIT, RunCommand("make test", ROOT), mcp_call("s", "t", "{}")])
def test_in_plan_mode_the_model_is_told_how_it_ends(action):
    with pytest.raises(Denied, match=r"plan mode.*exit_plan_mode"):
        Case(SlowApprover(YES), "plan").gate().authorize(action)


def test_a_command_that_is_allowed_says_whether_it_runs_without_the_sandbox():
    rules = Rules(roots=(ROOT,), confines=Confines(lambda: ""))
    case = Case(approvals=Approvals(rules, approver=ScriptedApprover("allow_once")))
    assert not case.gate().authorize(RunCommand("make test", ROOT)).outside
    assert not case.gate().authorize(DANGEROUS).outside
    assert case.gate().authorize(RunCommand("sudo make install", ROOT)).outside
    assert case.gate().authorize(RunCommand("make test", ROOT, outside=True)).outside


class Keeping:
    """Answers every question with a yes that is kept as far as that is offered."""

    def __init__(self):
        self.asked = []

    def ask(self, question, interrupt):
        self.asked.append(question)
        return Answer(allowed=True, scope=question.keeps[0].scope, always=True) if question.keeps else YES


def _keeping(tmp_path, rules=None):
    approver = Keeping()
    grants = Grants(KeptGrants(tmp_path / "permissions.yaml"), (ROOT,))
    case = Case(approvals=Approvals(rules or Rules(roots=(ROOT,)), approver=approver, grants=grants))
    return case, approver


def test_a_yes_for_good_is_asked_for_no_more_in_this_session_or_the_next(tmp_path):
    case, approver = _keeping(tmp_path)
    case.gate().authorize(EDIT)
    case.gate().authorize(EDIT)
    later, later_approver = _keeping(tmp_path)
    later.gate().authorize(EDIT)
    assert len(approver.asked) == 1
    assert later_approver.asked == []


def test_what_could_not_be_kept_holds_for_the_session_and_is_told(tmp_path):
    case, approver = _keeping(tmp_path)
    (tmp_path / "permissions.yaml").write_text("broken: [")
    told = []
    case.approvals.on_note = told.append
    case.gate().authorize(EDIT)
    case.gate().authorize(EDIT)
    assert len(approver.asked) == 1
    [note] = told
    assert "this session only" in note
    assert "permissions.yaml" in note


def test_nothing_is_kept_of_what_a_rule_may_deny_or_where_every_edit_is_shown(tmp_path):
    rules = Rules(roots=(ROOT,), deny=(parse_rule("run: git push*"),))
    case, approver = _keeping(tmp_path, rules)
    case.approvals.edits = "ask"
    case.gate().authorize(RunCommand('eval "$(cat x)"', ROOT))
    case.gate().authorize(EDIT)
    assert [question.keeps for question in approver.asked] == [(), ()]


def test_an_answer_that_is_taken_back_is_asked_for_again():
    approver = ScriptedApprover("allow_session")
    case = Case(approver)
    case.gate().authorize(EDIT)
    [answer] = case.approvals.grants.listed()
    case.approvals.revoke(answer)
    case.gate().authorize(EDIT)
    assert len(approver.asked) == 2


def test_a_refusal_that_is_forgotten_is_asked_for_again():
    approver = ScriptedApprover("reject_always")
    case = Case(approver)
    for _ in range(2):
        with pytest.raises(Denied):
            case.gate().authorize(EDIT)
    assert case.approvals.forget_refusals() == 1
    with pytest.raises(Denied):
        case.gate().authorize(EDIT)
    assert len(approver.asked) == 2


def test_what_a_rule_denies_is_told_with_the_rule_and_nobody_is_asked():
    approver = ScriptedApprover("allow_once")
    rules = Rules(roots=(ROOT,), deny=(parse_rule("run: rm *"), parse_rule("read: keys/**")))
    case = Case(approvals=Approvals(rules, "dont_ask", approver))
    with pytest.raises(Denied, match=r"denied by the user's rule `run: rm \*`"):
        case.gate().authorize(DANGEROUS)
    assert approver.asked == []
    assert case.gate().hides(ROOT / "keys/a")
    assert not case.gate().hides(ROOT / "a")


def test_a_gate_within_another_interrupt_asks_on_the_same_card_and_ends_with_that():
    approver = ScriptedApprover("allow_once")
    case, inner = Case(approver), Case().token
    gate = case.gate("call-7").within(inner)
    gate.authorize(EDIT)
    assert gate.call_id == "call-7"
    inner.cancel()
    with pytest.raises(ToolInterrupted):
        gate.authorize(EDIT)
    case.gate("call-7").authorize(EDIT)


class Judging:
    """A judge that gives its answer, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def __call__(self, action, reason, interrupt):
        self.asked.append(action.command)
        return self.answer


def _judged(answer, choice="reject_once"):
    rules = Rules(roots=(ROOT,), confines=Confines(lambda: ""))
    judge, approver, told = Judging(answer), ScriptedApprover(choice), []
    approvals = Approvals(rules, approver=approver, judge=judge)
    approvals.on_note = told.append
    case = Case(approvals=approvals)
    notes = []
    gate = Gate(approvals, "call-1", case.token, lambda _: None, notes.append)
    return gate, judge, approver, notes, told


def test_what_comes_back_by_itself_may_be_judged_in_the_persons_place_and_that_is_said():
    gate, judge, approver, notes, told = _judged("it only tidies up.")
    assert gate.authorize(RunCommand("rm -rf node_modules", ROOT)).verdict == "allow"
    assert (judge.asked, approver.asked) == (["rm -rf node_modules"], [])
    assert notes == ["Allowed by the model's judgement: it only tidies up."]
    assert told == ["Allowed by the model's judgement: it only tidies up. (run: rm -rf node_modules)"]


def test_a_judge_that_is_not_sure_leaves_it_to_the_person_and_is_asked_once():
    gate, judge, approver, notes, told = _judged("", "allow_once")
    gate.authorize(RunCommand("rm -rf node_modules", ROOT))
    assert (len(judge.asked), len(approver.asked), notes, told) == (1, 1, [], [])


@each(
    "action",
    [
        RunCommand("rm -rf src", ROOT),
        RunCommand("rm -rf node_modules src", ROOT),
        RunCommand("rm -rf ../other/node_modules", ROOT),
        RunCommand("rm -rf node_modules; cat ~/.ssh/id_rsa", ROOT),
        RunCommand("sudo rm -rf node_modules", ROOT),
        RunCommand("rm -rf node_modules", ROOT, outside=True),
        RunCommand("rm -rf node_modules", ROOT, uncontained="the editor runs it"),
        EDIT,
    ],
)
def test_no_judge_is_asked_about_anything_else(action):
    gate, judge, approver, *_ = _judged("it only tidies up.", "allow_once")
    gate.authorize(action)
    assert judge.asked == []
    assert len(approver.asked) == 1


def test_what_the_person_should_know_of_the_rules_is_told_once():
    approvals = Approvals(Rules(roots=(ROOT,)), warnings=("a rule is left out",))
    assert [approvals.take_warnings() for _ in range(2)] == [("a rule is left out",), ()]


def test_a_question_that_a_hook_wants_is_no_time_of_the_program_that_makes_the_call():
    approver = ScriptedApprover("reject_once")
    approvals = Approvals(Rules(roots=(ROOT,)), "default", approver)
    gate = Gate(approvals, "program-1", CancelToken(), lambda _: None, parent="program")
    with approvals.asked.watching("program") as watch:
        approver.before_answer = lambda: waited.append(watch.seconds())
        waited = []
        for why in ("a hook says so", "it says so again"):
            with pytest.raises(Denied, match="the user said no"):
                gate.confirm("terminal", why)
    assert 0 < waited[0] < waited[1]
