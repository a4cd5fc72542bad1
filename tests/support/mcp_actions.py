"""Calls of MCP tools as the gate gets them, with what the tool and its server are at that moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.approval.actions import CallMcpTool, pin_of

Described = Mapping[str, Any]
_OTHERS = ("t", "u", "read", "write")
PROGRAM: Described = {"command": "/usr/bin/server", "args": ["--stdio"], "cwd": "", "env": []}


def described(tool: str, **said: Any) -> Described:
    """What a server says of a tool."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"name": tool, "description": f"Does {tool}.", "inputSchema": schema, **said}


def mcp_call(
    server: str,
    tool: str,
    arguments: str = "{}",
    *,
    others: Sequence[Described] | None = None,
    program: Described = PROGRAM,
    **said: Any,
) -> CallMcpTool:
    """A call of `tool`, whose server has tools named t, u, read and write too, where `others` are not given."""
    tools = [*(map(described, _OTHERS) if others is None else others), described(tool, **said)]
    pins = {one["name"]: pin_of(program, one) for one in tools}
    return CallMcpTool(server, tool, arguments, pin=pins[tool], offered=frozenset(pins.items()))
