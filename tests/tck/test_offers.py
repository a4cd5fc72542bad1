"""MODES, CONFIG, AUTH: what the agent offers to be chosen, and how it is signed in to."""
# ruff: noqa: N802 - a requirement's id is the test's name

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PLAIN, PROFILES, RpcError
from tests.tck.conftest import Started
from tests.tck.place import capabilities, greeting, refusal, tried


def _values(option: dict[str, Any]) -> list[str]:
    """What an option can be set to, grouped or not."""
    return [choice["value"] for entry in option.get("options", ()) for choice in (entry.get("options") or [entry])]


async def test_MODES_001_the_present_mode_is_one_of_those_offered(started: Started, workspace: Path) -> None:
    """`currentModeId` is among `availableModes`, whose ids differ."""
    agent = await started()
    modes = agent.opened[await agent.new_session(workspace)]["modes"]
    ids = [mode["id"] for mode in modes["availableModes"]]
    assert modes["currentModeId"] in ids
    assert len(set(ids)) == len(ids)


async def test_MODES_002_each_mode_can_be_set_and_no_other(started: Started, workspace: Path) -> None:
    """A mode that was not offered is refused, and the present one stays."""
    agent = await started()
    session = await agent.new_session(workspace)
    for mode in agent.opened[session]["modes"]["availableModes"]:
        await agent.request("session/set_mode", {"sessionId": session, "modeId": mode["id"]})
    assert (await refusal(agent, "session/set_mode", {"sessionId": session, "modeId": "none"})).code == -32602


async def test_CONFIG_001_each_option_has_a_value_that_it_offers(started: Started, workspace: Path) -> None:
    """A select is at one of its values, a switch at true or false; ids differ."""
    agent = await started(PROFILES["zed"])
    options = agent.opened[await agent.new_session(workspace)]["configOptions"]
    for option in options:
        if option["type"] == "select":
            assert option["currentValue"] in _values(option)
        else:
            assert isinstance(option["currentValue"], bool)
    assert len({option["id"] for option in options}) == len(options)


async def test_CONFIG_002_setting_one_answers_with_all(started: Started, workspace: Path) -> None:
    """The answer is the complete list, with the new value in it."""
    agent = await started()
    session = await agent.new_session(workspace)
    ids = [option["id"] for option in agent.opened[session]["configOptions"]]
    mode = next(option for option in agent.opened[session]["configOptions"] if option["id"] == "mode")
    value = next(each for each in _values(mode) if each != mode["currentValue"])
    choice = {"sessionId": session, "configId": "mode", "value": value}
    answer = (await agent.request("session/set_config_option", choice))["configOptions"]
    assert [option["id"] for option in answer] == ids
    assert next(option for option in answer if option["id"] == "mode")["currentValue"] == value


async def test_CONFIG_003_what_is_not_offered_is_refused(started: Started, workspace: Path) -> None:
    """Neither an unknown option nor an unknown value changes anything."""
    agent = await started()
    session = await agent.new_session(workspace)
    for config, value in (("none", "x"), ("mode", "none")):
        choice = {"sessionId": session, "configId": config, "value": value}
        assert (await refusal(agent, "session/set_config_option", choice)).code == -32602


async def test_AUTH_001_each_way_to_sign_in_has_an_id_and_a_name(started: Started) -> None:
    """And an agent's own way comes first: some clients take the first without looking."""
    methods = greeting(await started())["authMethods"]
    assert methods[0].get("type", "agent") == "agent"
    assert all(method["id"] and method["name"] for method in methods)


@pytest.mark.parametrize("profile", PROFILES)
async def test_AUTH_002_a_terminal_is_asked_for_only_where_there_is_one(profile: str, started: Started) -> None:
    """A sign-in in a terminal needs the client's auth.terminal."""
    methods = greeting(await started(PROFILES[profile]))["authMethods"]
    if not PROFILES[profile].get("auth", {}).get("terminal"):
        assert all(method.get("type") != "terminal" for method in methods)


async def test_AUTH_003_an_offered_way_succeeds_where_a_model_is_configured(started: Started) -> None:
    """And it costs nothing to try."""
    agent = await started()
    method = greeting(agent)["authMethods"][0]["id"]
    assert await agent.request("authenticate", {"methodId": method}) == {}


async def test_AUTH_004_a_way_that_was_not_offered_is_an_error(started: Started) -> None:
    """A bogus id never succeeds."""
    await refusal(await started(), "authenticate", {"methodId": "bogus"})


async def test_AUTH_005_logout_works_exactly_where_it_is_offered(started: Started) -> None:
    """Without the capability the method is not there."""
    agent = await started(PLAIN)
    offered = "logout" in capabilities(agent).get("auth", {})
    outcome = await tried(agent, "logout", {})
    assert isinstance(outcome, RpcError) is not offered
    assert offered or outcome.code == -32601
