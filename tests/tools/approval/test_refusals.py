"""What a refusal says: to the model with what it should do now, to the person only that it is so and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tools.write_file  # noqa: F401 - registers the tool
from agent_core.events import with_tail
from tests.support.each import each
from tests.support.tool_context import ScriptedApprover, call, error_of, make_context
from tools.approval.actions import Action, ReadSecretFiles, RunCommand, WritePath
from tools.approval.policy import Decision
from tools.approval.questions import Answer, denied, said_no, said_no_before
from tools.result import ShownText, error

_ROOT = Path("/srv")
_RUN = RunCommand("rm -rf build", _ROOT)
_ADVICE = ("do not try", "ask the user", "go on without", "call exit_plan_mode", "tell the user", "write it plainly")


def _has_advice(text: str) -> bool:
    return any(words in text.lower() for words in _ADVICE)


@each(
    ("answer", "shown"),
    [
        (Answer(allowed=False), "Rejected."),
        (Answer(allowed=False, scope="session"), "Rejected for the rest of the session."),
        (Answer(allowed=False, words="Too big."), 'Rejected. You said: "Too big."'),
        (
            Answer(allowed=False, scope="session", words="No."),
            'Rejected for the rest of the session. You said: "No."',
        ),
        (Answer(allowed=False, note="the question was dismissed"), "Rejected: the question was dismissed."),
        (Answer(allowed=False, note="no answer within 5 seconds"), "Rejected: no answer within 5 seconds."),
    ],
)
@each("action", [_RUN, WritePath(_ROOT / "a", b"x", b"y", _ROOT / "a")])
def test_a_refusal_of_the_persons_is_short_for_them_and_advises_the_model(
    answer: Answer, shown: str, action: Action
) -> None:
    no = said_no(action, answer, "is dangerous")
    assert no.shown == shown
    assert _has_advice(str(no))
    assert (answer.words or answer.note or "the user said no") in str(no)


@each(
    "cause", ["plan", "person", "network", "rule", "others", "secrets", "rule-unclear", "outside", "floor", "refused"]
)
def test_a_refusal_of_the_policys_says_what_and_why_to_both_and_advises_the_model_alone(cause: str) -> None:
    no = denied(_RUN, Decision("deny", "reaches a private host", cause))  # type: ignore[arg-type]
    assert "rm -rf build" in str(no)
    assert "rm -rf build" in no.shown
    assert _has_advice(str(no))
    assert not _has_advice(no.shown)
    assert cause == "person" or "reaches a private host" in no.shown


def test_a_refusal_without_a_question_says_so() -> None:
    assert said_no_before(_RUN, to_all=False).shown == "Rejected without a question: it was refused before."
    assert "several times" in said_no_before(_RUN, to_all=True).shown


def test_a_refusal_where_nobody_is_asked_names_the_setting_that_would_allow_it() -> None:
    action = ReadSecretFiles(_ROOT, (_ROOT / ".env",))
    no = said_no(action, Answer(allowed=False, note="there is nobody to ask"))
    assert no.shown == (
        "Rejected: there is nobody to ask. "
        "approvals.allow: [read: .env] in your settings allows it without a question."
    )


def test_a_refusal_goes_to_the_model_as_the_text_and_to_the_person_as_what_is_shown(tmp_path: Path) -> None:
    context = make_context(tmp_path, "default", ScriptedApprover("reject_once"))
    result = call(context, "write_file", path="a.txt", content="x")
    assert result.denied
    assert "Do not try" in error_of(result)
    assert result.shown == (ShownText("Rejected."),)


def test_a_refusal_leaves_in_sight_what_the_call_had_printed() -> None:
    result = replace(error("Denied: do not try."), shown=(ShownText("Rejected."),), denied=True)
    assert with_tail(result, "3 files built\n").shown == (ShownText("3 files built\n", ""), ShownText("Rejected."))
    assert with_tail(result, "") == result
