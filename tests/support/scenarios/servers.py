"""MCP servers that the editor gives to a session."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from tests.support.editor_policies import in_turn, pick
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()

_PROGRAM = Path(__file__).parent.parent / "mcp_plain_server.py"
_STARTED = "servers-started"


def _server(stage: Stage, name: str, mode: str = "plain") -> dict[str, Any]:
    """A server that comes up when the file is there: so each prompt finds it in the same state."""
    # The SDK is loaded before, so that nobody's patience goes by meanwhile.
    import mcp  # noqa: F401, PLC0415

    program = shlex.join([sys.executable, "-IS", str(_PROGRAM), mode])
    held = f"until [ -e {stage.outside / _STARTED} ]; do sleep 0.01; done; exec {program}"
    return {"name": name, "command": "/bin/sh", "args": ["-c", held], "env": []}


def _call(tool: str, **arguments: str) -> str:
    return f"call mcp__db__{tool} {json.dumps(arguments)}"


async def _first_prompt(stage: Stage, *lines: str) -> None:
    """A prompt that waits for the servers, until they start."""
    turn = stage.begin_prompt(*lines)
    await stage.until_told("Waiting for MCP server")
    (stage.outside / _STARTED).touch()
    await stage.agent.answer(turn)


@scenario
async def mcp_call(stage: Stage) -> None:
    """The first prompt waits, visibly, for the session's server; each call of its tools is asked for."""
    await stage.greet()
    await stage.open(mcpServers=[_server(stage, "db")])
    await _first_prompt(stage, _call("echo", text="hello"), "say Called.")


@scenario
async def mcp_call_allowed_for_the_server(stage: Stage) -> None:
    """A yes for the server covers its other tools."""
    await stage.greet()
    await stage.open(mcpServers=[_server(stage, "db")])
    stage.agent.on_permission = in_turn(pick("allow_server", "allow_session"))
    await _first_prompt(stage, _call("echo", text="hello"), _call("variable", text="NO_SUCH_VARIABLE"), "say Called.")


@scenario
async def mcp_call_fails(stage: Stage) -> None:
    """A call that the server answers with an error, and one of a server that goes while it is called."""
    await stage.greet()
    await stage.open(mcpServers=[_server(stage, "db")])
    await _first_prompt(stage, _call("fail"), _call("crash"), "say It is gone.")


@scenario
async def mcp_server_fails(stage: Stage) -> None:
    """A server that does not start is told by name, once; the others work."""
    await stage.greet()
    await stage.open(mcpServers=[_server(stage, "vault", "exits"), _server(stage, "db")])
    await _first_prompt(stage, "say one")
    await stage.prompt("say two")
    await stage.prompt("/mcp")


@scenario
async def mcp_result_too_long(stage: Stage) -> None:
    """Of a long result the beginning is shown, with a link to the whole of it."""
    await stage.greet()
    await stage.open(mcpServers=[_server(stage, "db")])
    await _first_prompt(stage, 'call mcp__db__big {"size": 60000}', "say Long.")


@scenario
async def notices(stage: Stage) -> None:
    """A client that takes notices is told beside the conversation what others see in it."""
    await stage.greet_with_notices()
    await stage.open(mcpServers=[_server(stage, "vault", "exits")])
    await _first_prompt(stage, "say one")


@scenario
async def bad_servers(stage: Stage) -> None:
    """A server that is no such thing is refused by its name, whichever request brings it."""
    await stage.begin()
    bad = ({"name": "pigeon", "type": "pigeon"}, {"name": "db"}, {"command": "/bin/true"})
    for server in bad:
        await stage.refused("session/new", {"cwd": str(stage.workspace), "mcpServers": [server]})
    place = {"sessionId": stage.session, "cwd": str(stage.workspace), "mcpServers": [bad[0]]}
    await stage.prompt("say one")
    await stage.ask("session/close")
    for method in ("session/load", "session/resume", "session/fork"):
        await stage.refused(method, place)
