"""Servers made with the official SDK, over every transport."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.specs import McpLimits, ServerSpec
from tests.agent_core.mcp.conftest import Open
from tests.support.mcp_servers import KEY, sdk_on_a_port, sdk_over_stdio
from tests.support.tool_context import error_of
from tests.support.waiting import wait_until
from tools.result import ToolResult


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with sdk_on_a_port() as origin:
        yield origin


def spec_over(transport: str, origin: str) -> ServerSpec:
    match transport:
        case "http":
            return ServerSpec("sdk", "http", url=f"{origin}/mcp", headers=(KEY,))
        case "sse":
            return ServerSpec("sdk", "sse", url=f"{origin}/events/sse", headers=(KEY,))
        case _:
            return sdk_over_stdio()


@pytest.mark.parametrize("transport", ["stdio", "http", pytest.param("sse", marks=pytest.mark.slow)])
def test_a_server_works_over_every_transport(open_servers: Open, origin: str, transport: str) -> None:
    servers = open_servers(spec_over(transport, origin))
    (status,) = servers.status()
    assert (status.state, status.error) == ("ready", "")
    assert status.tools == ("mcp__sdk__add", "mcp__sdk__picture", "mcp__sdk__refuses", "mcp__sdk__steps")
    told: list[str] = []

    def call(tool: str, **arguments: object) -> ToolResult:
        return servers.call("sdk", tool, arguments, CancelToken(), told.append)

    assert call("add", a=2, b=3).text == "5"
    assert call("picture").text == "[image image/png, 1 kB]"
    assert call("steps", count=2).text == "done"
    # The last may be overtaken by the result.
    assert told[:1] == ["step 1 (1/2)\n"]
    assert call("refuses").failed
    assert call("add", a="two", b=3).failed
    servers.close()
    assert servers.status()[0].state == "closed"


@pytest.mark.parametrize(
    ("transport", "path", "headers", "told"),
    [
        ("http", "/mcp", (), "needs a sign-in (HTTP 401)"),
        ("http", "/mcp", (("Authorization", "Bearer wrong-secret"),), "needs a sign-in (HTTP 401)"),
        ("sse", "/events/sse", (), "needs a sign-in (HTTP 401)"),
        ("http", "/nothing?key=hush-hush", (KEY,), "is no MCP server of this kind (HTTP 404)"),
        ("sse", "/nothing", (KEY,), "is no MCP server of this kind (HTTP 404)"),
        ("http", "/page", (KEY,), "is no MCP server: it answered with text/html"),
        ("sse", "/page", (KEY,), "is no MCP server: it answered with text/html"),
    ],
)
def test_an_address_that_cannot_be_used_is_told_with_a_reason(
    open_servers: Open, origin: str, transport: str, path: str, headers: tuple[tuple[str, str], ...], told: str
) -> None:
    kind = "http" if transport == "http" else "sse"
    (status,) = open_servers(ServerSpec("x", kind, url=origin + path, headers=headers)).status()
    assert status.state == "failed"
    assert told in status.error
    assert "hush" not in status.error
    assert "secret" not in status.error


@pytest.mark.parametrize("transport", ["http", pytest.param("sse", marks=pytest.mark.slow)])
def test_an_address_where_nobody_listens_is_told(open_servers: Open, transport: str, refused_port: int) -> None:
    kind = "http" if transport == "http" else "sse"
    (status,) = open_servers(ServerSpec("x", kind, url=f"http://127.0.0.1:{refused_port}/mcp")).status()
    assert f"http://127.0.0.1:{refused_port}/mcp could not be reached" in status.error


def test_a_server_that_speaks_no_tls_where_it_should_is_told(open_servers: Open, origin: str) -> None:
    url = origin.replace("http:", "https:") + "/mcp"
    (status,) = open_servers(ServerSpec("x", "http", url=url)).status()
    assert "is not trusted" in status.error


@pytest.mark.parametrize("transport", ["http", pytest.param("sse", marks=pytest.mark.slow)])
def test_a_server_that_never_answers_fails_in_the_end(open_servers: Open, transport: str) -> None:
    kind = "http" if transport == "http" else "sse"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        (status,) = open_servers(ServerSpec("x", kind, url=url), limits=McpLimits(connect_seconds=0.2)).status()
    assert status.error == f"{url} did not answer within 0.2 s."


@pytest.mark.parametrize("transport", ["http", pytest.param("sse", marks=pytest.mark.slow)])
def test_a_server_that_goes_away_fails_its_calls(open_servers: Open, transport: str) -> None:
    with sdk_on_a_port() as origin:
        servers = open_servers(spec_over(transport, origin))
        assert servers.status()[0].state == "ready"
    result = servers.call("sdk", "add", {"a": 1, "b": 2}, CancelToken(), lambda _: None)
    assert result.failed
    assert error_of(result).startswith("MCP server 'sdk'")
    wait_until(lambda: servers.status()[0].state == "failed")
