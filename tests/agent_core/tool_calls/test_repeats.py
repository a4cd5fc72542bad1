"""What counts as the same again, and what as something that came of the turn."""

from __future__ import annotations

import json

import pytest

from agent_core.guardrails import Repeats
from agent_core.messages import tool_call
from tools.result import ResultImage, ToolResult, error

READS = {"read_file", "search_files"}


class Model:
    """Plays answers of one turn; each call is (tool, arguments, text of its result, None where it fails)."""

    def __init__(self):
        self.repeats = Repeats(only_reads=READS.__contains__)
        self._calls = 0

    def answers(self, *calls):
        """What became of each call: refused, warned or fine."""
        self.repeats.begin_answer()
        return [self._one(*call) for call in calls]

    def does(self, *calls):
        """One answer for each call."""
        return [outcome for call in calls for outcome in self.answers(call)]

    def _one(self, tool, arguments, result="done", image=b""):
        self._calls += 1
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call = tool_call(f"call-{self._calls}", tool, written)
        if refused := self.repeats.refusal(call):
            assert self.repeats.see(call, error(refused)) == ""
            return "refused"
        images = (ResultImage(image, "image/png"),) if image else ()
        came = error("it failed") if result is None else ToolResult(result, images=images)
        return "warned" if self.repeats.see(call, came) else "fine"


@pytest.fixture
def model():
    return Model()


FAILS = ("patch", {"path": "a", "old_string": "x"}, None)
EDIT = ("patch", {"path": "a", "old_string": "y"})
READ = ("read_file", {"path": "a"}, "the same")
RUN = ("terminal", {"command": "make"}, None)


def test_a_call_that_fails_again_and_again_is_warned_of_then_not_run_then_the_end(model):
    assert model.does(*[FAILS] * 6) == ["fine", "warned", "warned", "warned", "refused", "refused"]
    assert "patch 6 times with the same arguments" in model.repeats.halted


def test_the_turn_goes_on_up_to_the_last_count(model):
    model.does(*[FAILS] * 5)
    assert model.repeats.halted == ""


def test_arguments_are_the_same_in_whatever_order_they_are_written(model):
    calls = [("patch", '{"a": 1, "b": 2}', None), ("patch", '{"b":2,"a":1}', None)]
    assert model.does(*calls) == ["fine", "warned"]


def test_arguments_that_are_no_json_are_compared_as_text(model):
    assert model.does(("patch", '{"a": ', None), ("patch", '{"a": ', None)) == ["fine", "warned"]


def test_the_same_call_counts_once_in_an_answer(model):
    assert model.answers(*[FAILS] * 8) == ["fine"] * 8
    assert model.answers(FAILS) == ["warned"]


def test_many_failures_of_a_tool_in_one_answer_count_once(model):
    missing = [("read_file", {"path": str(number)}, None) for number in range(9)]
    assert model.answers(*missing) == ["fine"] * 9
    assert model.does(("read_file", {"path": "x"}, None), ("read_file", {"path": "y"}, None)) == ["fine", "warned"]


def test_a_tool_that_fails_with_ever_other_arguments_is_not_run_before_something_new_was_seen(model):
    tries = [("patch", {"old_string": str(number)}, None) for number in range(12)]
    assert model.does(*tries[:7]) == ["fine", "fine", "warned", "warned", "warned", "warned", "refused"]
    assert model.does(READ, tries[7]) == ["fine", "warned"]
    assert model.does(tries[8]) == ["refused"]
    assert "patch 10 times" not in model.repeats.halted
    assert model.does(READ, tries[9]) == ["warned", "refused"]  # it has seen that already
    assert "patch 10 times in a row" in model.repeats.halted


def test_a_tool_that_works_in_between_does_not_fail_in_a_row(model):
    for number in range(9):
        assert model.does(("terminal", {"command": f"no {number}"}, None), ("terminal", {"command": "yes"})) == [
            "fine",
            "fine",
        ]


def test_reading_the_same_again_and_again_is_warned_of_then_not_done_then_the_end(model):
    assert model.does(*[READ] * 6) == ["fine", "warned", "warned", "warned", "refused", "refused"]
    assert "same result" in model.repeats.halted


def test_a_result_that_differs_is_no_circle(model):
    assert model.does(*[("read_file", {"path": "a"}, f"line {number}") for number in range(9)]) == ["fine"] * 9


def test_another_image_is_another_result(model):
    calls = [("read_file", {"path": "a.png"}, "an image", bytes([number])) for number in range(4)]
    assert model.does(*calls) == ["fine"] * 4


def test_waiting_for_a_process_is_no_circle(model):
    assert model.does(*[("process", {"action": "poll"}, "still running")] * 20) == ["fine"] * 20


@pytest.mark.parametrize("circle", [FAILS, READ])
def test_a_change_that_works_lets_counting_begin_anew(model, circle):
    model.does(circle, circle, circle)
    model.does(EDIT)
    assert model.does(circle, circle) == ["fine", "warned"]


def test_a_change_in_the_same_answer_counts_before_the_call_behind_it(model):
    model.does(*[RUN] * 4)
    assert model.answers(EDIT, RUN) == ["fine", "fine"]


def test_a_command_that_worked_before_is_no_change(model):
    listing = ("terminal", {"command": "ls"})
    outcomes = model.does(*[listing, FAILS] * 6)
    assert outcomes[1::2] == ["fine", "warned", "warned", "warned", "refused", "refused"]
    assert model.repeats.halted


def test_a_change_of_the_plan_is_none_of_the_files(model):
    plans = [("todo", {"todos": [number]}) for number in range(6)]
    outcomes = [model.does(plan, FAILS)[1] for plan in plans]
    assert outcomes == ["fine", "warned", "warned", "warned", "refused", "refused"]


def test_words_of_the_person_let_counting_begin_anew(model):
    model.does(*[FAILS] * 6)
    model.repeats.begin_anew()
    assert model.repeats.halted == ""
    assert model.does(FAILS, FAILS) == ["fine", "warned"]


def test_a_read_that_fails_after_it_worked_is_counted_as_a_failure_only(model):
    model.does(READ, READ)
    gone = ("read_file", {"path": "a"}, None)
    assert model.does(gone, gone) == ["fine", "warned"]
