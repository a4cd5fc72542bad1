"""Which ways to sign in a client is offered."""

from __future__ import annotations

import sys

import pytest
from acp.schema import InitializeResponse

from acp_adapter.auth import CONFIGURED, SETUP, auth_methods, check_method
from acp_adapter.capabilities import ClientCapabilities
from agent_core.errors import RequestError
from tests.support.each import each

NEITHER = ClientCapabilities()
TERMINALS = ClientCapabilities(terminal_auth=True)
LEGACY = ClientCapabilities(terminal_auth_meta=True)
BOTH = ClientCapabilities(terminal_auth=True, terminal_auth_meta=True)
LAUNCH = (sys.executable, "-P", "-m", "acp_adapter", "--profile", "work")
HOME = {"HERMES_HOME": "/srv/hermes"}


@pytest.mark.parametrize("client", [NEITHER, TERMINALS, LEGACY, BOTH])
def test_what_is_configured_comes_first_and_everything_is_as_the_protocol_has_it(client: ClientCapabilities) -> None:
    methods = auth_methods(client, LAUNCH, HOME)
    assert (methods[0]["id"], methods[0].get("type", "agent")) == (CONFIGURED, "agent")
    told = {"protocolVersion": 1, "authMethods": methods}
    parsed = InitializeResponse.model_validate(told).model_dump(by_alias=True, exclude_none=True)
    # The type of the first one is there for clients that take a method without one for another's.
    assert [{"type": "agent", **method} for method in parsed["authMethods"]] == [
        {"type": "agent", **method} for method in methods
    ]


def test_a_client_without_terminals_is_offered_setup_in_words() -> None:
    (_, setup) = auth_methods(NEITHER, LAUNCH, HOME)
    assert (setup["id"], setup["type"]) == (SETUP, "agent")
    assert "`hermes-acp setup`" in setup["description"][:60]
    assert not {"args", "env", "_meta"} & setup.keys()


def test_a_client_with_terminals_is_offered_setup_in_one() -> None:
    (_, terminal) = auth_methods(TERMINALS, LAUNCH, HOME)
    assert (terminal["id"], terminal["type"]) == (SETUP, "terminal")
    assert terminal["args"] == ["-P", "-m", "acp_adapter", "setup", "--profile", "work"]
    assert terminal["env"] == HOME
    assert "_meta" not in terminal


def test_older_clients_get_the_whole_command_and_no_type_that_they_did_not_offer() -> None:
    (_, terminal) = auth_methods(LEGACY, LAUNCH, {})
    assert not {"type", "args", "env"} & terminal.keys()
    meta = terminal["_meta"]["terminal-auth"]
    assert meta["label"]
    assert (meta["command"], meta["env"]) == (sys.executable, {})
    assert meta["args"] == ["-P", "-m", "acp_adapter", "setup", "--profile", "work"]


def test_a_client_that_knows_both_gets_one_method_with_both() -> None:
    (_, terminal) = auth_methods(BOTH, LAUNCH, {})
    assert terminal["type"] == "terminal"
    assert "env" not in terminal
    assert terminal["_meta"]["terminal-auth"]["command"] == sys.executable


@each("client", [NEITHER, LEGACY, TERMINALS, BOTH])
def test_what_is_offered_may_be_used(client: ClientCapabilities) -> None:
    for method in auth_methods(client, LAUNCH, HOME):
        check_method(method["id"])


@each("method_id", ["bogus", "", "setup"])
def test_only_what_is_offered_may_be_used(method_id: str) -> None:
    with pytest.raises(RequestError, match=f"{CONFIGURED}.*{SETUP}"):
        check_method(method_id)
