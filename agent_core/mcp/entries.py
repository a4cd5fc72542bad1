"""The tools of a server as the agent's own tools, and the few that are there for all servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent_core.mcp.names import PREFIX, tool_names
from agent_core.mcp.offers import OfferedTool
from tools.agent_ports import CALL_BY_NAME, McpTools
from tools.context import ToolContext, require_context
from tools.errors import ToolError
from tools.registry import ToolEntry
from tools.result import ToolResult

LIST_RESOURCES, READ_RESOURCE = "mcp_list_resources", "mcp_read_resource"
FIND, CALL = "mcp_find_tools", CALL_BY_NAME

_TOOLSET = "mcp-servers"
_SERVER = {"type": "string", "description": "The server's name."}


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


def resource_entries() -> tuple[ToolEntry, ...]:
    """The tools for resources, where a server has some."""
    return (
        _entry(
            LIST_RESOURCES,
            "List the resources (data with an address) that MCP servers offer.",
            {"server": {**_SERVER, "description": "Only this server's."}},
            lambda mcp, arguments, _: ToolResult(mcp.resources(str(arguments.get("server") or ""))),
        ),
        _entry(
            READ_RESOURCE,
            f"Read a resource of an MCP server. {LIST_RESOURCES} tells which there are.",
            {"server": _SERVER, "uri": {"type": "string", "description": "The resource's address."}},
            lambda mcp, arguments, ctx: mcp.read(
                str(arguments["server"]), str(arguments["uri"]), ctx.interrupt, ctx.progress
            ),
            required=("server", "uri"),
        ),
    )


def search_entries(servers: Iterable[str]) -> tuple[ToolEntry, ...]:
    """The tools that stand for those of all servers, where these are too long to tell; `servers` are their names."""
    names = ", ".join(servers)
    return (
        _entry(
            FIND,
            f"Find tools of the MCP servers ({names}) that are not in your list. Use the result with {CALL}.",
            {"query": {"type": "string", "description": "What the tool should do, in a few words, or its name."}},
            lambda mcp, arguments, _: ToolResult(mcp.find(str(arguments["query"]))),
            required=("query",),
        ),
        _entry(
            CALL,
            f"Call a tool that {FIND} has found.",
            {
                "name": {"type": "string", "description": f"Its name, as {PREFIX}server__tool."},
                "arguments": {"type": "object", "description": "Its arguments, as its schema says."},
            },
            _call_by_name,
            required=("name",),
        ),
    )


Work = Callable[[McpTools, Mapping[str, Any], ToolContext], ToolResult]


def _entry(
    name: str, description: str, properties: Mapping[str, Any], work: Work, *, required: tuple[str, ...] = ()
) -> ToolEntry:
    def handle(arguments: dict[str, Any], **kwargs: Any) -> ToolResult:
        ctx = require_context(kwargs)
        if ctx.mcp is None:
            raise ToolError("There are no MCP servers in this session.")
        return work(ctx.mcp, arguments, ctx)

    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return ToolEntry(name, _TOOLSET, schema, handle, description, untrusted=True)


def _call_by_name(mcp: McpTools, arguments: Mapping[str, Any], ctx: ToolContext) -> ToolResult:
    name, given = str(arguments["name"]), arguments.get("arguments") or {}
    found = mcp.locate(name)
    if found is None:
        raise ToolError(f"There is no MCP tool {name!r}. Look for it with {FIND}.")
    if not isinstance(given, Mapping):
        raise ToolError("`arguments` must be an object, as the tool's schema says.")
    return mcp.call(*found, dict(given), ctx.interrupt, ctx.progress)


def _handler(server: str, tool: str) -> Callable[..., ToolResult]:
    def handle(arguments: dict[str, Any], **kwargs: Any) -> ToolResult:
        ctx = require_context(kwargs)
        if ctx.mcp is None:
            raise ToolError(f"The MCP server {server!r} is not connected in this session.")
        return ctx.mcp.call(server, tool, arguments, ctx.interrupt, ctx.progress)

    return handle
