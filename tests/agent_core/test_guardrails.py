"""What is decided about a model that goes round in circles."""

from __future__ import annotations

import json

import pytest

from agent_core.guardrails import Steps, Tally, Thresholds, Verdict, decide, farewell, refusal, warning, with_warning
from tests.support.each import each

USUAL = Thresholds()
NEVER = Thresholds(Steps(0, 0, 0), Steps(0, 0, 0), Steps(0, 0, 0))


@each(
    ("tally", "due"),
    [
        (Tally(), ("go", 0)),
        (Tally(same_call=1, same_tool=2, no_progress=1), ("go", 1)),
        (Tally(same_call=2), ("warn", 2)),
        (Tally(same_call=3), ("warn", 3)),
        (Tally(same_call=4), ("block", 4)),
        (Tally(same_call=5), ("block", 5)),
        (Tally(same_call=6), ("halt", 6)),
        (Tally(same_call=99), ("halt", 99)),
        (Tally(same_tool=3), ("warn", 3)),
        (Tally(same_tool=6), ("block", 6)),
        (Tally(same_tool=10), ("halt", 10)),
        (Tally(no_progress=2), ("warn", 2)),
        (Tally(no_progress=4), ("block", 4)),
        (Tally(no_progress=6), ("halt", 6)),
        (Tally(same_call=3, same_tool=3), ("warn", 3)),
        (Tally(same_call=2, same_tool=6), ("block", 6)),
    ],
)
def test_the_gravest_step_that_is_due_is_taken(tally, due):
    verdict = decide(tally, USUAL)
    assert (verdict.step, verdict.count) == due


def test_of_two_equal_steps_the_one_about_the_call_itself_is_told():
    assert decide(Tally(same_call=2, same_tool=3), USUAL).circle == "same_call"
    assert decide(Tally(same_tool=3, no_progress=2), USUAL).circle == "no_progress"


def test_what_is_never_due_is_never_done():
    assert decide(Tally(99, 99, 99), NEVER).step == "go"


def test_a_block_that_is_turned_off_leaves_the_other_steps():
    steps = Steps(warn=2, block=0, halt=6)
    assert [steps.at(count) for count in (1, 2, 5, 6)] == ["go", "warn", "warn", "halt"]


@pytest.mark.parametrize("circle", ["same_call", "same_tool", "no_progress"])
def test_each_circle_has_words_for_the_model_and_for_the_person(circle):
    verdict = Verdict("halt", circle, 7)
    for told in (warning(verdict, "patch"), refusal(verdict, "patch"), farewell(verdict, "patch")):
        assert " 7 times" in told
    assert refusal(verdict, "patch").startswith("Not run:")
    assert "tool_loop_guardrails" in farewell(verdict, "patch")


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": {"b": "}"}}\n', "{}", " { } "])
def test_a_warning_stands_within_a_result_that_is_an_object(text):
    told = json.loads(with_warning(text, 'say "no"'))
    assert told == {**json.loads(text), "loop_warning": 'say "no"'}


@pytest.mark.parametrize("text", ["plain", "{not json}", "[1]", ""])
def test_a_warning_stands_behind_any_other_result(text):
    assert with_warning(text, "look") == f"{text}\n\n[look]"


def test_without_a_warning_a_result_stays_as_it_is():
    assert with_warning('{"a":1}', "") == '{"a":1}'
