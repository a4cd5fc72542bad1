"""MCP servers for tests: as specs of processes, and one that listens on a loopback port."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.mcp.specs import ServerPolicy, ServerSpec
from tests.support.app_server import serving
from tests.support.certificates import Certificates

_PLAIN = Path(__file__).with_name("mcp_plain_server.py")
_FILES = Path(__file__).with_name("mcp_files_server.py")
_SDK = Path(__file__).with_name("mcp_sdk_server.py")

KEY = ("Authorization", "Bearer open")


def plain(name: str = "plain", mode: str = "plain", *, env: tuple[tuple[str, str], ...] = ()) -> ServerSpec:
    """A server that starts at once; `mode` says how it misbehaves."""
    return ServerSpec(name, "stdio", command=sys.executable, args=("-IS", str(_PLAIN), mode), env=env)


def rich(name: str = "rich", *, policy: ServerPolicy | None = None) -> ServerSpec:
    """A server that starts at once, with resources and prompts, which wants things of its client."""
    return replace(plain(name, "rich"), policy=policy or ServerPolicy())


def files(name: str = "files") -> ServerSpec:
    """A server that reads and writes the paths that it is given, as tools and as resources."""
    return ServerSpec(name, "stdio", command=sys.executable, args=("-IS", str(_FILES)))


def with_tools(name: str, tools: list[dict[str, Any]]) -> ServerSpec:
    """A server that offers just these tools."""
    return ServerSpec(name, "stdio", command=sys.executable, args=("-IS", str(_PLAIN), "tools", json.dumps(tools)))


def sdk_over_stdio(name: str = "sdk") -> ServerSpec:
    """A server made with the official SDK."""
    return ServerSpec(name, "stdio", command=sys.executable, args=(str(_SDK),))


@contextmanager
def sdk_on_a_port(port: int = 0, certificates: Certificates | None = None) -> Iterator[str]:
    """The same server, listening; yields its origin: `/mcp` is http, `/events/sse` is sse, `/page` is neither.

    With certificates it speaks TLS, to who shows one of the same CA.
    """
    from tests.support.mcp_sdk_server import network_app  # noqa: PLC0415 - loads the SDK

    with serving(lambda _: network_app(), port, certificates) as origin:
        yield origin


def on_the_wire(spec: ServerSpec) -> dict[str, Any]:
    """The server as an editor gives it to a session."""
    if spec.transport == "stdio":
        env = [{"name": name, "value": value} for name, value in spec.env]
        return {"name": spec.name, "command": spec.command, "args": list(spec.args), "env": env}
    headers = [{"name": name, "value": value} for name, value in spec.headers]
    return {"type": spec.transport, "name": spec.name, "url": spec.url, "headers": headers}
