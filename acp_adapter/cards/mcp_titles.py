"""Titles of what has to do with MCP servers."""

from __future__ import annotations

from acp_adapter.cards.titles import Arguments

PREFIX = "mcp__"


def readable_name(name: str) -> str:
    """«server: tool» for a tool of an MCP server; other names as they are."""
    server, _, tool = name.removeprefix(PREFIX).partition("__")
    return f"{server}: {tool}" if name.startswith(PREFIX) and server and tool else name


def called_tool_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The tool that was found by a search."""
    return readable_name(str(arguments.get("name") or "An MCP tool"))


def found_tool_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """What is looked for among the tools of servers."""
    return f"Find MCP tools: {arguments.get('query') or '?'}"


def more_tools_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """What is looked for among the tools that are not in the model's list."""
    wanted = arguments.get("query") or arguments.get("name")
    return f"Look for a tool: {wanted}" if wanted else "Look at the other tools"


def resource_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    """The resource that is read, and whose it is."""
    return f"Read {arguments.get('uri') or 'a resource'} of {arguments.get('server') or 'an MCP server'}"
