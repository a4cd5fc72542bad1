"""The permission modes, as modes and as choices."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_adapter.options import MODES, mode_state, parse_mode
from agent_core.errors import RequestError
from tests.support.each import each
from tests.support.wire import check_outgoing
from tools.approval.policy import Mode


@pytest.mark.parametrize("mode", get_args(Mode))
def test_each_mode_can_be_the_present_one_and_fits_the_schema(mode: Mode) -> None:
    modes = mode_state(mode)
    assert modes["currentModeId"] == mode
    assert {each["id"] for each in modes["availableModes"]} == set(get_args(Mode))
    check_outgoing({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s", "modes": modes}}, "session/new")


def test_the_modes_stand_from_the_most_careful_to_the_least() -> None:
    assert list(MODES) == ["plan", "default", "accept_edits", "dont_ask"]
    assert all(mode == each.value for mode, each in MODES.items())


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_mode_is_found_by_its_id(mode: Mode) -> None:
    assert parse_mode(mode) == mode


@each("value", ["", "Default", "yolo", None, True, 0, ["default"], {"value": "default"}])
def test_an_unknown_mode_is_refused_with_those_there_are(value: Any) -> None:
    with pytest.raises(RequestError) as refused:
        parse_mode(value)
    assert all(mode in refused.value.public for mode in get_args(Mode))
