"""The permission mode as ACP modes and as a config option: two views of one thing."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from acp_adapter.options import MODE_OPTION, config_options, mode_state, parse_mode, parse_option
from agent_core.errors import RequestError
from tests.support.wire import check_outgoing
from tools.approval.policy import Mode

MODES = get_args(Mode)


@pytest.mark.parametrize("mode", MODES)
def test_modes_and_options_say_the_same_and_fit_the_schema(mode: Mode) -> None:
    modes, options = mode_state(mode), config_options(mode)
    (option,) = options
    assert modes["currentModeId"] == option["currentValue"] == mode
    assert [each["id"] for each in modes["availableModes"]] == [each["value"] for each in option["options"]]
    assert {each["id"] for each in modes["availableModes"]} == set(MODES)
    for one, other in zip(modes["availableModes"], option["options"], strict=True):
        assert (one["name"], one["description"]) == (other["name"], other["description"])
    result = {"sessionId": "s", "modes": modes, "configOptions": options}
    check_outgoing({"jsonrpc": "2.0", "id": 1, "result": result}, "session/new")


def test_the_most_careful_mode_is_named_first() -> None:
    assert mode_state("default")["availableModes"][0]["id"] == "default"


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_is_found_by_its_id(mode: Mode) -> None:
    assert parse_mode(mode) == parse_option(MODE_OPTION, mode) == mode


@pytest.mark.parametrize("value", ["", "Default", "plan", None, True, 0, ["default"], {"value": "default"}])
def test_an_unknown_mode_is_refused_with_those_there_are(value: Any) -> None:
    with pytest.raises(RequestError) as refused:
        parse_mode(value)
    assert all(mode in refused.value.public for mode in MODES)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(RequestError, match="The only one is 'mode'"):
        parse_option("model", "default")
