"""The servers that a client gives a session."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer

from acp_adapter.mcp_specs import read_servers
from agent_core.errors import RequestError
from agent_core.mcp.specs import ServerSpec
from tests.support.each import each

STDIO = {
    "name": "git",
    "command": "/usr/bin/mcp-git",
    "args": ["--stdio"],
    "env": [{"name": "TOKEN", "value": "sesame77"}],
}
HTTP = {
    "type": "http",
    "name": "web",
    "url": "https://example.com/mcp",
    "headers": [{"name": "Authorization", "value": "Bearer sesame77"}],
}


def test_the_three_kinds_are_read() -> None:
    assert read_servers([STDIO, HTTP, {**HTTP, "type": "sse", "name": "old"}]) == (
        ServerSpec("git", "stdio", command="/usr/bin/mcp-git", args=("--stdio",), env=(("TOKEN", "sesame77"),)),
        ServerSpec("web", "http", url="https://example.com/mcp", headers=(("Authorization", "Bearer sesame77"),)),
        ServerSpec("old", "sse", url="https://example.com/mcp", headers=(("Authorization", "Bearer sesame77"),)),
    )


def test_the_sdks_models_are_read_alike() -> None:
    models = [
        McpServerStdio(
            name="git",
            command="/usr/bin/mcp-git",
            args=["--stdio"],
            env=[EnvVariable(name="TOKEN", value="sesame77")],
        ),
        HttpMcpServer(
            type="http",
            name="web",
            url="https://example.com/mcp",
            headers=[HttpHeader(name="Authorization", value="Bearer sesame77")],
        ),
        SseMcpServer(type="sse", name="old", url="https://example.com/sse", headers=[]),
    ]
    old = {"type": "sse", "name": "old", "url": "https://example.com/sse", "headers": []}
    assert read_servers(models) == read_servers([STDIO, HTTP, old])


def test_lists_that_are_left_out_are_empty() -> None:
    assert read_servers([{"type": "stdio", "name": "a", "command": "mcp-a", "env": None}]) == (
        ServerSpec("a", "stdio", command="mcp-a"),
    )


def test_variables_and_headers_may_be_objects() -> None:
    (spec,) = read_servers([{"name": "a", "command": "/a", "env": {"A": "1"}}])
    assert spec.env == (("A", "1"),)


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert [spec.name for spec in read_servers([STDIO, STDIO, HTTP, STDIO])] == ["git", "git-2", "web", "git-3"]


@each(
    ("entry", "told"),
    [
        ("git", "mcpServers[0] must be an object"),
        ({"command": "/a"}, "mcpServers[0]: name must be a text"),
        ({**STDIO, "name": " "}, "mcpServers[0]: name must be a text"),
        ({"name": "git"}, "'git': command must be a text"),
        ({**STDIO, "command": ["/usr/bin/mcp-git", "sesame77"]}, "'git': command must be a text"),
        ({**STDIO, "args": "--stdio sesame77"}, "'git': args must be a list"),
        ({**STDIO, "env": ["sesame77"]}, "'git': env must be a list of objects"),
        ({**STDIO, "env": [{"name": "TOKEN", "value": 7}]}, "'git': env must be a list of objects"),
        ({**HTTP, "headers": [{"value": "sesame77"}]}, "'web': headers must be a list of objects"),
        ({**HTTP, "url": "ftp://sesame77@example.com"}, "'web': url must begin with http"),
        ({**HTTP, "url": "http://[sesame77"}, "'web': url must have a host"),
        ({**HTTP, "url": "https:///sesame77"}, "'web': url must have a host"),
        ({**HTTP, "url": "http://example.com:sesame77/mcp"}, "'web': url must have a host"),
        ({"type": "acp", "name": "in", "id": "x"}, "'in' is to be reached through the client's own connection"),
        ({**STDIO, "type": "pigeon"}, "'git' has the unknown type 'pigeon'"),
    ],
)
def test_a_malformed_entry_is_refused_by_name_and_without_its_secrets(entry: Any, told: str) -> None:
    with pytest.raises(RequestError) as refused:
        read_servers([entry])
    assert told in str(refused.value)
    assert "sesame77" not in str(refused.value)
