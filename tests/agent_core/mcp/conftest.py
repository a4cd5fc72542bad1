"""Sessions with MCP servers, which all end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.session_servers import SessionServers
from agent_core.mcp.specs import McpLimits, ServerSpec
from agent_core.service_loop import ServiceLoop
from tools.environments.guardian import Guardian

Open = Callable[..., SessionServers]


@pytest.fixture
def open_servers(tmp_path: Path, guardian: Guardian) -> Iterator[Open]:
    """`open_servers(spec, …)`: a session with these servers, each of them connected or failed."""
    loop = ServiceLoop()
    opened: list[SessionServers] = []

    def open_servers(
        *specs: ServerSpec,
        limits: McpLimits | None = None,
        variables: Mapping[str, str] | None = None,
        wait: float = 30,
        share: float = 0.1,
    ) -> SessionServers:
        servers = SessionServers(
            specs, tmp_path, loop=loop, guardian=guardian, limits=limits, variables=variables, search_share=share
        )
        opened.append(servers)
        servers.start()
        servers.wait(wait, CancelToken())
        return servers

    yield open_servers
    for servers in opened:
        servers.close()
    loop.stop()
