"""The first answers, before the protocol SDK is there; whatever is unusual is left to the server as it came."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.jsonrpc import RequestMeta
from acp_adapter.startup import Greeting, greet, initialize_result
from agent_core.config import Configuration, Overrides, load
from agent_core.errors import SettingsError
from agent_core.home import Home
from tests.support.agent_end import RawClient, unread
from tests.support.editor import Editor
from tests.support.waiting import wait_until

_ROOT = Path(__file__).parents[2]
_OFFERS = {"x": 1, "fs": {"readTextFile": True}}
_READS = ClientCapabilities(read_files=True)
_INITIALIZE = {"id": 1, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": _OFFERS}}


@pytest.fixture
def settings(home: Path) -> Configuration:
    return load(Home(home), Overrides("offline", "offline"))


def _new(cwd: Any, **params: Any) -> dict[str, Any]:
    return {"id": 2, "method": "session/new", "params": {"cwd": str(cwd), "mcpServers": [], **params}}


def _never() -> Configuration:
    raise AssertionError("the settings are not needed yet")


def test_initialize_and_the_first_session_are_answered(
    client: RawClient, settings: Configuration, tmp_path: Path
) -> None:
    client.send(
        _INITIALIZE, _new(tmp_path, mcpServers=[{"name": "files", "command": "x"}]), {**_new(tmp_path), "id": 3}
    )
    greeting = greet(client.transport, lambda: settings)
    assert client.read() == {"jsonrpc": "2.0", "id": 1, "result": initialize_result(_READS)}
    opened = client.read()
    assert opened["id"] == 2
    assert greeting.seed is not None
    assert greeting.seed.session_id == opened["result"]["sessionId"]
    assert [server.name for server in greeting.seed.servers] == ["files"]
    assert greeting.shown is not None
    assert opened["result"] == {"sessionId": greeting.seed.session_id, **greeting.shown.choices}
    assert greeting == Greeting(True, _READS, "", greeting.seed, ended=False, shown=greeting.shown)
    left = client.transport.inbox.take()
    assert left is not None
    assert left["method"] == "session/new", "the second one is the server's"


def test_initialize_needs_no_settings_and_may_come_again(client: RawClient) -> None:
    client.send(_INITIALIZE, {**_INITIALIZE, "id": "b", "params": {"protocolVersion": 7}})
    client.close_input()
    greeting = greet(client.transport, _never)
    assert [client.read()["id"], client.read()["id"]] == [1, "b"]
    assert greeting.ended
    assert greeting.client == ClientCapabilities(), "the last initialize counts"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", {}),
        ("initialize", {"protocolVersion": "1"}),
        ("initialize", {"protocolVersion": None}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": "s", "prompt": []}),
        ("authenticate", {"methodId": "x"}),
        ("_vendor/x", {"a": 1}),
    ],
)
def test_an_unusual_first_message_is_put_back_unchanged(
    method: str, params: dict[str, Any], client: RawClient
) -> None:
    client.send({"id": 1, "method": method, "params": {**params, "_meta": {"k": 1}}})
    assert greet(client.transport, _never) == Greeting()
    assert unread(client.end.reader) == 0
    meta: Any = (
        {"k": 1}
        if method.startswith("_")
        else {"hermes_meta": RequestMeta(1, {"k": 1}, servers=params.get("mcpServers"))}
    )
    assert client.transport.inbox.take() == {
        "jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta},
    }  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"cwd": None}, {"cwd": 7}, {"mcpServers": None}, {"mcpServers": {}}, {"mcpServers": ["x"]},
        {"mcpServers": [{"name": 7}]}, {"mcpServers": [{}]}, {"additionalDirectories": "x"},
        {"additionalDirectories": [7]},
    ],
)  # fmt: skip
def test_a_session_that_is_not_well_formed_is_left_to_the_server(changes: dict[str, Any], client: RawClient) -> None:
    message = _new("/")
    message["params"].update(changes)
    client.send(_INITIALIZE, message)
    greeting = greet(client.transport, _never)
    assert client.read()["id"] == 1
    assert greeting.initialized
    assert greeting.seed is None
    left = client.transport.inbox.take()
    assert left is not None
    assert {key: left["params"][key] for key in changes} == changes


def test_a_refused_session_is_an_error_and_the_next_one_is_the_servers(
    client: RawClient, settings: Configuration
) -> None:
    client.send(_INITIALIZE, _new("/no/such"), {**_new("/"), "id": 3})
    greeting = greet(client.transport, lambda: settings)
    assert client.read()["id"] == 1
    refused = client.read()
    assert (refused["id"], refused["error"]["code"]) == (2, -32602)
    assert greeting.seed is None
    assert (client.transport.inbox.take() or {})["id"] == 3


def test_settings_that_cannot_be_used_are_the_sessions_error(client: RawClient, tmp_path: Path) -> None:
    def broken() -> Configuration:
        raise SettingsError("config.yaml: agent.max_turns must be a number")

    client.send(_INITIALIZE, _new(tmp_path))
    greet(client.transport, broken)
    client.read()
    assert client.read()["error"]["message"] == "config.yaml: agent.max_turns must be a number"


def test_what_goes_wrong_unexpectedly_is_left_to_the_server_which_has_a_log(
    client: RawClient, tmp_path: Path
) -> None:
    def broken() -> Configuration:
        raise ZeroDivisionError

    client.send(_INITIALIZE, _new(tmp_path))
    greeting = greet(client.transport, broken)
    assert greeting.seed is None
    assert (client.transport.inbox.take() or {})["id"] == 2


@pytest.mark.parametrize("before", [[], [_INITIALIZE]])
def test_a_client_that_leaves_is_told(before: list[dict[str, Any]], client: RawClient) -> None:
    client.send(*before)
    client.close_input()
    greeting = greet(client.transport, _never)
    assert greeting.ended
    assert greeting.initialized == bool(before)


_BUDGET = """
import json, os, sys, threading
import acp_adapter.entry, acp_adapter.process, agent_core.home
from acp_adapter.startup import greet
from acp_adapter.transport import Stdio, Transport

class Watching(Transport):
    def answer(self, request_id, **outcome):
        print(json.dumps(sorted(sys.modules)))
        super().answer(request_id, **outcome)

reader, writer = os.pipe()
os.write(writer, b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\\n')
os.close(writer)
transport = Watching(Stdio(reader, os.open(os.devnull, os.O_WRONLY)))
transport.start()
assert greet(transport, lambda: None).ended
sys.stdout.flush()
os._exit(0)
"""

_SESSION = """
import json, os, pathlib, sys
from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.startup import first_options, open_session, session_result
from agent_core.config import ConfigSource, Overrides
from agent_core.home import Home
config = ConfigSource(Home(pathlib.Path(sys.argv[1])), Overrides("offline", "offline"))
seed, client = open_session("/", [], [], config.load()), ClientCapabilities()
session_result(seed.session_id, first_options(seed, config.load(), client), client)
print(json.dumps(sorted(sys.modules)))
"""

_OPEN = """
import json, pathlib, sys
import acp_adapter.server
from agent_core.settings.options import SessionChoices
from agent_core.config import ConfigSource, Overrides
from agent_core.factory import AgentFactory
from agent_core.home import Home
home = pathlib.Path(sys.argv[1])
rules = "deny: [{run: git push}, {host: example.org}], allow: [{read: x}]"
home.joinpath("config.yaml").write_text("approvals: {%s}" % rules)
factory = AgentFactory(ConfigSource(Home(home), Overrides("offline", "offline")))
factory.workspace(pathlib.Path("/"), (), SessionChoices(), "session-1")
if sys.argv[2] == "warm":
    factory.warm_calls()
factory.close()
print(json.dumps(sorted(sys.modules)))
"""
# What a command is judged by. The rest of these packages is light.
_JUDGES = (
    "tools.approval.commands.dangers.",
    "tools.approval.commands.harmless",
    "tools.approval.commands.scripts",
    "tools.approval.commands.bash.",
)
_LIGHT = {"tools.approval.commands.classes", "tools.approval.commands.bash"}


def _modules(script: str, *args: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, cwd=_ROOT, timeout=30, check=True
    )
    return set(json.loads(ended.stdout))


def test_nothing_heavy_is_loaded_when_initialize_is_answered() -> None:
    loaded = _modules(_BUDGET)
    heavy = {"acp", "pydantic", "yaml", "openai", "anthropic", "httpx2", "asyncio", "argparse", "acp_adapter.server"}
    assert loaded & heavy == set()


def test_the_protocol_sdk_is_not_needed_for_the_first_session(home: Path) -> None:
    heavy = {"acp", "openai", "anthropic", "acp_adapter.server", "agent_core.agent"}
    assert _modules(_SESSION, str(home)) & heavy == set()


def test_a_session_opens_without_what_commands_are_judged_by(home: Path) -> None:
    loaded = {name for name in _modules(_OPEN, str(home), "cold") if name.startswith(_JUDGES)}
    assert loaded - _LIGHT == set()


def test_what_commands_are_judged_by_is_loaded_while_the_person_types(home: Path) -> None:
    assert "tools.approval.commands.classification" in _modules(_OPEN, str(home), "warm")


async def test_the_protocol_sdk_is_loaded_while_nobody_opens_a_session(home: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-P", "-m", "acp_adapter"]
    editor = await Editor.spawn("--offline", home=home, command=command)
    try:
        await editor.initialize()
        await asyncio.to_thread(wait_until, lambda: " acp.schema\n" in editor.stderr)
    finally:
        await editor.close()
