"""What a user sets about models that go round in circles."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_core.guardrails import Steps, Thresholds
from agent_core.settings.model import Settings

OFF = Steps(0, 0, 0)


def thresholds(**written):
    return Thresholds.of(Settings.model_validate({"tool_loop_guardrails": written}).tool_loop_guardrails)


def test_without_a_word_the_usual_steps_are_taken():
    assert Thresholds.of(Settings().tool_loop_guardrails) == Thresholds()


def test_a_count_that_is_set_takes_the_place_of_one():
    assert thresholds(warn_after={"exact_failure": 3}, hard_stop_after={"idempotent_no_progress": 9}) == Thresholds(
        same_call=Steps(3, 4, 6), no_progress=Steps(2, 4, 9)
    )


def test_either_half_can_be_turned_off():
    assert thresholds(hard_stop_enabled=False).same_call == Steps(2, 0, 0)
    assert thresholds(warnings_enabled=False).same_tool == Steps(0, 6, 10)
    both = thresholds(warnings_enabled=False, hard_stop_enabled=False)
    assert (both.same_call, both.same_tool, both.no_progress) == (OFF, OFF, OFF)


def test_zero_is_never():
    assert thresholds(block_after={"same_tool_failure": 0}).same_tool == Steps(3, 0, 10)


def test_a_count_below_zero_is_refused():
    with pytest.raises(ValidationError):
        thresholds(warn_after={"exact_failure": -1})
