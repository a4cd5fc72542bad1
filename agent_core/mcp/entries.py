"""The tools of a server as the agent's own tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agent_core.mcp.names import tool_names
from agent_core.mcp.server import OfferedTool
from tools.context import require_context
from tools.errors import ToolError
from tools.registry import ToolEntry
from tools.result import ToolResult


def tool_entries(server: str, label: str, tools: Iterable[OfferedTool]) -> list[ToolEntry]:
    """An entry for each tool of the server `server`, whose cleaned name is `label`."""
    offered = tuple(tools)
    names = tool_names(label, (tool.name for tool in offered))
    return [
        ToolEntry(
            name=names[tool.name],
            toolset=f"mcp-{label}",
            schema=tool.schema,
            handler=_handler(server, tool.name),
            description=tool.description or f"The tool {tool.name} of the MCP server {server}.",
            # A server's own word for it (readOnlyHint) is not to be trusted.
            parallel="never",
            untrusted=True,
        )
        for tool in offered
    ]


def _handler(server: str, tool: str) -> Callable[..., ToolResult]:
    def handle(arguments: dict[str, Any], **kwargs: Any) -> ToolResult:
        ctx = require_context(kwargs)
        if ctx.mcp is None:
            raise ToolError(f"The MCP server {server!r} is not connected in this session.")
        return ctx.mcp.call(server, tool, arguments, ctx.interrupt, ctx.progress)

    return handle
