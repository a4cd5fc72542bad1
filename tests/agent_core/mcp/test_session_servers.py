"""A session's MCP servers, as processes: connected, called, misbehaving, gone."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import McpLimits, ServerPolicy, ServerSpec
from tests.agent_core.mcp.conftest import Open
from tests.support.mcp_servers import plain, rich, with_tools
from tests.support.processes import has_ended
from tests.support.waiting import wait_until
from tests.support.web_server import Exchange, WebServer
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted
from tools.result import reason_of

# Opens a server that would outlive it, tells that one's process id and whether the SDK's models wait, and reads on.
_OWNER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from pathlib import Path
from agent_core.cancel import CancelToken
from agent_core.service_loop import ServiceLoop
from agent_core.mcp.session_servers import SessionServers
from tests.support.mcp_servers import plain
from tools.environments.guardian import Guardian
servers = SessionServers([plain("plain", "deaf")], Path.cwd(), loop=ServiceLoop(), guardian=Guardian())
servers.start()
servers.wait(30, CancelToken())
print(servers.call("plain", "pid", {{}}, CancelToken(), print).text)
from mcp_types import CreateMessageRequest
print(CreateMessageRequest.__pydantic_complete__, flush=True)
sys.stdin.read()
"""


def say(servers: SessionServers, tool: str, server: str = "plain", **arguments: object) -> str:
    """What a tool answered."""
    result = servers.call(server, tool, arguments, CancelToken(), lambda _: None)
    assert not result.failed, result.text
    return result.text


def error_of(servers: SessionServers, tool: str, server: str = "plain", **arguments: object) -> str:
    result = servers.call(server, tool, arguments, CancelToken(), lambda _: None)
    assert result.failed, result.text
    return reason_of(result.text)


def failure(servers: SessionServers) -> str:
    """Why the session's only server failed."""
    (status,) = servers.status()
    assert status.state == "failed", status
    return status.error


def test_a_tool_of_a_server_is_called(open_servers: Open) -> None:
    servers = open_servers(plain())
    assert say(servers, "echo", text="hällo\nthere") == "hällo\nthere"


def test_tools_of_all_pages_are_entries_under_the_servers_name(open_servers: Open) -> None:
    servers = open_servers(plain())
    names = [entry.name for entry in servers.entries()]
    assert names[:3] == ["mcp__plain__big", "mcp__plain__crash", "mcp__plain__cwd"]
    assert len(names) == 11
    entry = next(entry for entry in servers.entries() if entry.name == "mcp__plain__echo")
    assert (entry.toolset, entry.description, entry.parallel) == ("mcp-plain", "Says it again.", "never")
    assert servers.status()[0].tools == tuple(names)


def test_a_server_works_in_the_home_with_its_own_and_the_filtered_variables(open_servers: Open) -> None:
    """A workspace's directory would have package runners take packages and registries from there."""
    ours = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "planted", "HERMES_HOME": "/h", "LANG": "C.UTF-8"}
    servers = open_servers(plain(env=(("SERVER_TOKEN", "given"),)), variables=ours)
    seen = {name: say(servers, "variable", text=name) for name in (*ours, "SERVER_TOKEN", "PWD")}
    assert seen["ANTHROPIC_API_KEY"] == seen["HERMES_HOME"] == "(not set)"
    assert (seen["SERVER_TOKEN"], seen["LANG"]) == ("given", "C.UTF-8")
    assert say(servers, "cwd") == seen["PWD"] == str(Path.home().resolve())


def test_a_server_works_where_its_entry_says(open_servers: Open, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    servers = open_servers(replace(plain(), cwd="deep"))
    assert say(servers, "cwd") == str(tmp_path.resolve() / "deep")


def test_what_a_server_starts_by_name_does_not_come_from_the_workspace(
    open_servers: Open, tmp_path: Path, program_folder: Path
) -> None:
    for folder in (tmp_path / "node_modules" / ".bin", program_folder):
        folder.mkdir(parents=True, exist_ok=True)
    server = program_folder / "server"
    server.write_text("#!/usr/bin/env planted\n")
    server.chmod(0o755)
    planted = tmp_path / "node_modules" / ".bin" / "planted"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    planted.chmod(0o755)
    path = f"{planted.parent}:{program_folder}:{os.environ['PATH']}"
    assert failure(open_servers(ServerSpec("x", "stdio", command="server"), variables={"PATH": path}))
    assert not (tmp_path / "ran").exists()


def test_what_is_next_to_a_servers_program_is_found_where_the_program_was_named(
    open_servers: Open, tmp_path: Path, own_programs: Callable[[Mapping[str, str]], None]
) -> None:
    """As node next to npx, in a home that is itself a session's directory."""
    folder = tmp_path / "versions" / "bin"
    folder.mkdir(parents=True)
    (folder / "npx").write_text("#!/usr/bin/env planted-node\n")
    (folder / "planted-node").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    for name in ("npx", "planted-node"):
        (folder / name).chmod(0o755)
    own_programs({"npx": str(folder / "npx")})
    failure(open_servers(ServerSpec("x", "stdio", command="npx"), variables={"PATH": os.environ["PATH"]}))
    assert (tmp_path / "ran").exists()


def test_a_server_that_never_answers_delays_nobody(open_servers: Open) -> None:
    servers = open_servers(plain("slow", "silent"), plain(), wait=0)
    wait_until(lambda: servers.status()[1].state == "ready", 20)
    assert servers.status()[0].state == "connecting"
    assert say(servers, "echo", text="x") == "x"
    assert "still starting" in error_of(servers, "echo", "slow", text="x")


def test_a_server_that_never_answers_fails_in_the_end(open_servers: Open) -> None:
    servers = open_servers(plain("slow", "silent"), limits=McpLimits(connect_seconds=0.1))
    assert failure(servers) == "It did not answer within 0.1 s."


def test_a_cancel_ends_the_wait_for_servers(open_servers: Open) -> None:
    servers = open_servers(plain("slow", "silent"), wait=0)
    token = CancelToken()
    waiting = threading.Thread(target=servers.wait, args=(60, token))
    waiting.start()
    token.cancel()
    waiting.join(5)
    assert not waiting.is_alive()
    assert servers.status()[0].state == "connecting"


def test_who_is_not_there_soon_after_another_is_not_waited_for(open_servers: Open) -> None:
    servers = open_servers(plain("slow", "silent"), plain(), wait=0)
    servers.wait(60, CancelToken(), 0.0)
    assert [server.state for server in servers.status()] == ["connecting", "ready"]


def test_without_another_a_server_has_all_the_time(open_servers: Open) -> None:
    servers = open_servers(plain("slow", "silent"), limits=McpLimits(connect_seconds=0.2), wait=0)
    servers.wait(60, CancelToken(), 0.0)
    assert failure(servers) == "It did not answer within 0.2 s."


def test_a_server_that_exits_is_told_with_its_last_words_but_without_its_secrets(open_servers: Open) -> None:
    servers = open_servers(plain("vault", "exits", env=(("VAULT_KEY", "sesame77"),)))
    assert failure(servers) == (
        "Its process exited with status 3. It wrote: «could not open the vault with the key ***»."
    )


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/nowhere/mcp", "There is no program /nowhere/mcp. Install it"),
        ("no-such-mcp-server", "There is no program no-such-mcp-server on PATH. Install it"),
        ("./server", "relative path"),
        ("nul\0", "on PATH"),
    ],
)
def test_a_command_that_is_not_there_is_named(open_servers: Open, command: str, told: str) -> None:
    assert told in failure(open_servers(ServerSpec("x", "stdio", command=command)))


def test_a_command_of_the_path_is_found(open_servers: Open) -> None:
    spec = plain()
    variables = {"PATH": str(Path(sys.executable).parent)}
    named = ServerSpec("plain", "stdio", command=Path(sys.executable).name, args=spec.args)
    assert say(open_servers(named, variables=variables), "echo", text="x") == "x"


def test_arguments_reach_the_server_as_they_are(open_servers: Open, tmp_path: Path) -> None:
    strange = "-n $(touch " + str(tmp_path / "ran") + ") 'a\"b' \\ *"
    servers = open_servers(with_tools("plain", [{"name": strange, "inputSchema": {"type": "object"}}]))
    assert servers.status()[0].state == "ready"
    assert not (tmp_path / "ran").exists()


def test_lines_that_are_no_messages_are_passed_over(open_servers: Open) -> None:
    assert say(open_servers(plain("plain", "noisy")), "echo", text="x") == "x"


def test_a_program_that_is_no_server_is_told_with_what_it_wrote(open_servers: Open) -> None:
    spec = ServerSpec("date", "stdio", command="/bin/echo", args=("usage: echo",))
    assert failure(open_servers(spec)) == (
        "Its process exited with status 0. It wrote what is no MCP message: «usage: echo»."
    )


def test_a_crash_in_the_middle_of_a_call_fails_that_call_and_leaves_the_others_alone(open_servers: Open) -> None:
    servers = open_servers(plain("first"), plain("second"))
    assert "exited with status 7. It wrote: «out of cheese»." in error_of(servers, "crash", "first")
    assert "exited with status 7" in error_of(servers, "echo", "first", text="x")
    assert say(servers, "echo", "second", text="x") == "x"
    states = {status.name: status.state for status in servers.status()}
    assert states == {"first": "failed", "second": "ready"}
    # The model keeps its list of tools; calls say what happened.
    assert "mcp__first__echo" in [entry.name for entry in servers.entries()]


def test_a_huge_result_comes_whole(open_servers: Open) -> None:
    assert say(open_servers(plain()), "big", size=5_000_000) == "x" * 5_000_000


def test_a_message_beyond_every_bound_ends_the_server_with_a_reason(open_servers: Open) -> None:
    servers = open_servers(plain(), limits=McpLimits(message_bytes=1024 * 1024))
    assert "more than 1 MB" in error_of(servers, "big", size=5_000_000)


def test_an_answer_over_the_network_has_a_limit_too(open_servers: Open) -> None:
    def flood(exchange: Exchange) -> None:
        exchange.head(content_type="application/json")
        with contextlib.suppress(OSError):
            for _ in range(100):
                exchange.write(b" " * 100_000)

    with WebServer({"/mcp": flood}) as web:
        spec = ServerSpec("web", "http", url=web.url("/mcp"))
        assert "more than 1 MB" in failure(open_servers(spec, limits=McpLimits(message_bytes=1024 * 1024)))


def test_errors_of_a_tool_and_of_the_protocol_are_failures_for_the_model(open_servers: Open) -> None:
    servers = open_servers(plain())
    assert error_of(servers, "fail") == "no such issue"
    assert error_of(servers, "refuse") == (
        "MCP server 'plain': It refused the call (code -32602). The server said: «not like this»."
    )


def test_a_cancelled_turn_cancels_the_call_and_the_server_is_told(open_servers: Open, tmp_path: Path) -> None:
    servers, token, told = open_servers(plain()), CancelToken(), []
    noted = tmp_path / "noted"

    def progress(text: str) -> None:
        told.append(text)
        token.cancel()

    with pytest.raises(ToolInterrupted):
        servers.call("plain", "long", {"text": str(noted)}, token, progress)
    assert told == ["a third (1/3)\n"]
    wait_until(noted.exists)
    assert say(servers, "echo", text="still here") == "still here"


def test_a_turn_that_is_over_calls_nothing(open_servers: Open) -> None:
    servers, token = open_servers(plain()), CancelToken()
    token.cancel()
    with pytest.raises(ToolInterrupted):
        servers.call("plain", "echo", {"text": "x"}, token, lambda _: None)


def test_a_call_that_takes_too_long_is_given_up_and_the_server_is_told(open_servers: Open, tmp_path: Path) -> None:
    servers = open_servers(plain(), limits=McpLimits(call_seconds=0.2))
    assert "did not answer within 0.2 s" in error_of(servers, "long", text=str(tmp_path / "noted"))
    wait_until((tmp_path / "noted").exists)


def test_two_sessions_have_their_own_processes(open_servers: Open) -> None:
    first, second = open_servers(plain()), open_servers(plain())
    pids = {say(first, "pid"), say(second, "pid")}
    assert len(pids) == 2
    first.close()
    assert say(second, "pid") in pids


def test_close_ends_the_process_and_its_children(open_servers: Open, guardian: Guardian) -> None:
    servers = open_servers(plain())
    pids = [int(say(servers, "pid")), int(say(servers, "offspring"))]
    assert guardian.groups() == {pids[0]}
    servers.close()
    # The child of a dead process has to be reaped by the system first.
    wait_until(lambda: all(map(has_ended, pids)))
    assert not guardian.groups()
    assert servers.status()[0].state == "closed"
    assert "closed" in error_of(servers, "echo", text="x")


def test_what_the_settings_leave_out_cannot_be_had_by_its_name_either(open_servers: Open) -> None:
    servers = open_servers(rich(policy=ServerPolicy(exclude=("pid",), resources=False)))
    assert "is not used" in error_of(servers, "pid", "rich")
    read = servers.read("rich", "note://one", CancelToken(), lambda _: None)
    assert read.failed
    assert "are not used" in read.text


def test_close_ends_what_has_left_the_server_s_group(open_servers: Open) -> None:
    servers = open_servers(plain())
    child = int(say(servers, "offspring", leaves="the group"))
    servers.close()
    wait_until(lambda: has_ended(child))


def test_close_ends_a_process_that_does_not_want_to(open_servers: Open) -> None:
    servers = open_servers(plain("plain", "deaf"), limits=McpLimits(close_seconds=0.1))
    pid = int(say(servers, "pid"))
    servers.close()
    assert has_ended(pid)


def test_children_of_a_server_that_crashed_are_ended(open_servers: Open) -> None:
    servers = open_servers(plain())
    child = int(say(servers, "offspring"))
    error_of(servers, "crash")
    wait_until(lambda: has_ended(child))


def test_close_ends_a_server_that_is_still_starting(open_servers: Open, guardian: Guardian) -> None:
    servers = open_servers(plain("slow", "silent"), wait=0)
    wait_until(lambda: bool(guardian.groups()))
    (pid,) = guardian.groups()
    servers.close()
    assert has_ended(pid)


def test_a_session_that_was_closed_at_once_starts_nothing(open_servers: Open, guardian: Guardian) -> None:
    servers = open_servers(plain(), wait=0)
    servers.close()
    assert not guardian.groups()
    assert servers.status()[0].state == "closed"


def test_a_tool_that_models_servers_would_refuse_is_left_out_with_a_reason(open_servers: Open) -> None:
    tools = [
        {"name": "good", "inputSchema": {}},
        {"name": "bad", "inputSchema": {"type": "string"}},
        {"name": "good", "inputSchema": {}},
    ]
    (status,) = open_servers(with_tools("odd", tools)).status()
    assert status.tools == ("mcp__odd__good",)
    assert status.left_out == (
        "bad: its input schema is not that of an object",
        "'good': its name is missing or taken",
    )


def test_odd_names_are_cleaned_for_the_model_and_kept_for_the_server(open_servers: Open) -> None:
    first = with_tools("my server!", [{"name": "do.it", "inputSchema": {}}, {"name": "do it", "inputSchema": {}}])
    second = with_tools("my_server_", [{"name": "do.it", "inputSchema": {}}])
    servers = open_servers(first, second)
    names = [entry.name for entry in servers.entries()]
    assert names == ["mcp__my_server_2__do_it", "mcp__my_server__do_it", "mcp__my_server__do_it_2"]


def test_a_sub_agents_window_does_not_change_what_its_session_has(open_servers: Open) -> None:
    servers = open_servers(plain(), share=0.01)
    servers.fit(128_000, "session")
    servers.fit(32_000, "sub-agent")
    assert len(servers.entries()) == 11
    servers.fit(32_000, "session")
    assert [entry.name for entry in servers.entries()] == ["mcp_find_tools", "mcp_call_tool"]


@pytest.mark.long
def test_a_process_loads_the_sdk_light_and_its_kill_takes_its_servers_along(tmp_path: Path) -> None:
    with subprocess.Popen(
        (sys.executable, "-c", _OWNER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        assert owner.stdout.readline() == "False\n", "models that nobody uses were built"
        assert not has_ended(server)
        owner.kill()
    wait_until(lambda: has_ended(server))


def test_a_server_that_does_not_read_holds_a_call_up_only_so_long(
    open_servers: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = open_servers(plain("plain", "stuck"), limits=McpLimits(call_seconds=0.1))
    # The SDK's patience with the word that the call is over, which cannot be written either.
    monkeypatch.setattr("mcp.shared.jsonrpc_dispatcher._ABANDON_WRITE_TIMEOUT", 0.1, raising=False)
    token = CancelToken()
    rescue = threading.Timer(20, token.cancel)
    rescue.start()
    try:
        # The first fills the pipe, the second is not even begun.
        for _ in range(2):
            result = servers.call("plain", "echo", {"text": "x" * 1_000_000}, token, lambda _: None)
            assert "within 0.1 s" in result.text
    finally:
        rescue.cancel()


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_malformed_address_fails_its_server(open_servers: Open, kind: Literal["http", "sse"]) -> None:
    assert "the server's address" in failure(open_servers(ServerSpec("bad", kind, url="http://[nowhere"), wait=10))
