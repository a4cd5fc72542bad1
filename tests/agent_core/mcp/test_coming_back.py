"""Servers that go away come back by themselves, and others do not notice."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import McpLimits, ServerPolicy, ServerSpec, ServerStatus
from tests.agent_core.mcp.conftest import Open
from tests.support.mcp_servers import KEY, plain, rich, sdk_on_a_port
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian

SOON = McpLimits(retry_seconds=0.01)
NEVER = McpLimits(retry_seconds=60)


def said(servers: SessionServers, tool: str, server: str = "plain", **arguments: object) -> str:
    return servers.call(server, tool, arguments, CancelToken(), lambda _: None).text


def status(servers: SessionServers, name: str = "plain") -> ServerStatus:
    return next(one for one in servers.status() if one.name == name)


def test_a_server_that_died_is_there_again_with_a_new_process(open_servers: Open) -> None:
    servers = open_servers(plain(), limits=SOON)
    first = said(servers, "pid")
    assert "exited with status 7" in said(servers, "crash")
    wait_until(lambda: status(servers).state == "ready")
    assert said(servers, "pid") not in {first, ""}


def test_while_it_is_gone_calls_say_so_and_that_it_is_tried_again(open_servers: Open) -> None:
    servers = open_servers(plain(), limits=NEVER)
    said(servers, "crash")
    assert "exited with status 7. It wrote: «out of cheese». It is tried again by itself. Go on without it." in said(
        servers, "echo", text="x"
    )
    assert status(servers).retry == "It is tried again by itself."


def test_a_server_that_never_stays_is_started_only_so_many_times(
    open_servers: Open, guardian: Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    add = guardian.add
    monkeypatch.setattr(guardian, "add", lambda group: (started.append(group), add(group)))
    servers = open_servers(plain("plain", "exits"), limits=replace(SOON, most_attempts=3))
    wait_until(lambda: len(started) == 3)
    wait_until(lambda: status(servers).state == "failed" and not status(servers).retry)
    assert len(started) == 3
    assert servers.reconnect("plain")
    wait_until(lambda: len(started) > 3)


def test_what_will_not_get_better_is_not_tried_again(open_servers: Open) -> None:
    servers = open_servers(ServerSpec("x", "stdio", command="/nowhere/mcp"), limits=SOON)
    assert (status(servers, "x").state, status(servers, "x").retry) == ("failed", "")


def test_a_server_that_cannot_be_tried_says_why(open_servers: Open) -> None:
    servers = open_servers(ServerSpec("x", "stdio", problem="The variable A is not set."), plain())
    assert status(servers, "x").error == "The variable A is not set."
    assert status(servers).state == "ready"


def test_one_that_is_asked_to_connects_anew(open_servers: Open) -> None:
    servers = open_servers(plain(), limits=NEVER)
    first = said(servers, "pid")
    assert servers.reconnect("plain")
    servers.wait(20, CancelToken())
    wait_until(lambda: status(servers).state == "ready")
    assert said(servers, "pid") != first
    assert not servers.reconnect("nobody")


def test_a_closed_session_brings_nothing_back(open_servers: Open, guardian: Guardian) -> None:
    servers = open_servers(plain(), limits=replace(SOON, retry_seconds=30))
    said(servers, "crash")
    servers.close()
    assert status(servers).state == "closed"
    assert not guardian.groups()


def test_new_tools_and_prompts_are_there_once_the_server_says_so(open_servers: Open) -> None:
    servers = open_servers(rich())
    heard: list[int] = []
    servers.on_prompts = lambda: heard.append(1)
    before = {entry.name: entry for entry in servers.entries()}
    assert said(servers, "grow", "rich") == "grown"
    wait_until(lambda: any("grown" in entry.name for entry in servers.entries()))
    assert [prompt.name for _, _, prompt in servers.prompts()] == ["Review", "grown1"]
    assert heard
    assert before.keys() < {entry.name for entry in servers.entries()}


@pytest.mark.parametrize(("kind", "path"), [("http", "/mcp"), ("sse", "/events/sse")])
def test_a_server_of_the_network_that_was_restarted_is_connected_anew(
    open_servers: Open, kind: Literal["http", "sse"], path: str
) -> None:
    with sdk_on_a_port() as origin:
        servers = open_servers(ServerSpec("api", kind, url=f"{origin}{path}", headers=(KEY,)), limits=SOON)
        assert said(servers, "add", "api", a=1, b=2) == "3"
    assert "cannot be used" in said(servers, "add", "api", a=1, b=2)
    with sdk_on_a_port(int(origin.rpartition(":")[2])):
        wait_until(lambda: said(servers, "add", "api", a=1, b=2) == "3", 20)


def test_entries_stay_the_same_while_their_server_does(open_servers: Open) -> None:
    servers = open_servers(plain(), rich(), limits=NEVER)
    before = [entry for entry in servers.entries() if entry.name.startswith("mcp__plain")]
    said(servers, "crash", "rich")
    after = [entry for entry in servers.entries() if entry.name.startswith("mcp__plain")]
    assert all(one is other for one, other in zip(before, after, strict=True))


def test_the_end_of_an_idle_server_of_the_network_is_noticed_where_it_is_asked_for_a_sign_of_life(
    open_servers: Open,
) -> None:
    with sdk_on_a_port() as origin:
        watched, other = (
            ServerSpec(name, "http", url=f"{origin}/mcp", headers=(KEY,), policy=ServerPolicy(ping_every=seconds))
            for name, seconds in (("watched", 0.05), ("other", 0.0))
        )
        servers = open_servers(watched, other, limits=NEVER)
        assert said(servers, "add", "watched", a=1, b=2) == "3"
    wait_until(lambda: status(servers, "watched").state == "failed")
    assert status(servers, "other").state == "ready"
