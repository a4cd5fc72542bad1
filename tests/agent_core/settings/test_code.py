"""What a user can set about programs that call tools."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_core.settings.model import Settings
from tests.support.each import each
from tools.settings import ProgramSettings


def test_the_keys_are_upstreams_and_reach_the_tools():
    assert Settings.model_validate({}).code_execution.as_programs() == ProgramSettings()
    written = {"code_execution": {"mode": "strict", "timeout": 20, "max_tool_calls": 7, "of_another_program": 1}}
    found = Settings.model_validate(written).code_execution.as_programs()
    assert found == ProgramSettings(mode="strict", timeout=20.0, max_calls=7)


@each("wrong", [{"mode": "free"}, {"timeout": 0}, {"timeout": 3601}, {"timeout": "nan"}, {"max_tool_calls": 0}])
def test_values_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValidationError):
        Settings.model_validate({"code_execution": wrong})
