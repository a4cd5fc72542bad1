"""An MCP server that this project did not write can be used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent_core.interrupt import CancelToken
from agent_core.mcp.service_loop import ServiceLoop
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import ServerSpec
from tools.environments.guardian import Guardian

EVERYTHING = Path(__file__).parent / "node_modules" / ".bin" / "mcp-server-everything"


def test_the_reference_server_is_called(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not EVERYTHING.exists():
        pytest.skip("the Node MCP server is not installed: run `make node-clients` (needs Node ≥ 20 and npm)")
    spec = ServerSpec("everything", "stdio", command=node, args=(str(EVERYTHING.resolve()), "stdio"))
    guardian, loop, told = Guardian(), ServiceLoop(), list[str]()
    servers = SessionServers([spec], tmp_path, loop=loop, guardian=guardian)
    try:
        servers.start()
        servers.wait(30, CancelToken())
        (status,) = servers.status()
        assert (status.state, status.error, status.left_out) == ("ready", "", ())
        assert "mcp__everything__echo" in status.tools

        def call(tool: str, **arguments: object) -> str:
            return servers.call("everything", tool, arguments, CancelToken(), told.append).text

        assert call("echo", message="hello") == "Echo: hello"
        assert call("get-sum", a=2, b=3) == "The sum of 2 and 3 is 5."
        assert "[image image/png, " in call("get-tiny-image")
        assert "completed" in call("trigger-long-running-operation", duration=0.2, steps=2)
        assert told[:1] == ["1/2\n"]
    finally:
        servers.close()
        loop.stop()
        assert not guardian.groups()
        guardian.kill_all()
