"""Servers of the protocol without a handshake: they answer with questions of their own, and tell those who listen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from tests.agent_core.mcp.conftest import Open
from tests.support.mcp_servers import plain
from tests.support.waiting import wait_until
from tools.agent_ports import PersonAnswer, PersonPage, PersonQuestion
from tools.ports import Interrupt


class Person:
    """Says the same to every question."""

    def ask(self, question: PersonQuestion | PersonPage, interrupt: Interrupt) -> PersonAnswer:
        return PersonAnswer("answered", {"name": "me"})

    def allow_model(self, server: str, prompt: str, interrupt: Interrupt) -> None:
        return


def call(servers: SessionServers, tool: str, **arguments: Any) -> str:
    return servers.call("new", tool, arguments, CancelToken(), lambda _: None, behalf=Person()).text


FORM: Mapping[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}


def test_its_questions_reach_the_person_and_the_call_goes_on(open_servers: Open) -> None:
    servers = open_servers(plain("new", "modern"))
    assert [status.error for status in servers.status()] == [""]
    answer, state = json.loads(call(servers, "want", method="elicitation/create", mode="form", **FORM))
    assert (answer["action"], answer["content"], state) == ("accept", {"name": "me"}, "s")


def test_its_resources_and_prompts_are_there(open_servers: Open) -> None:
    servers = open_servers(plain("new", "modern"))
    assert "note://one" in servers.resources("new")
    assert servers.read("new", "note://one", CancelToken(), lambda _: None).text == "The note note://one."
    words = servers.prompt("new", "Review", {"path": "a"}, CancelToken())
    assert words.text == 'Review {"path": "a"}'


def test_it_tells_who_listens_of_new_tools(open_servers: Open) -> None:
    servers = open_servers(plain("new", "modern"))

    def grown() -> bool:
        call(servers, "grow")
        return any("grown" in entry.name for entry in servers.entries())

    wait_until(grown)
