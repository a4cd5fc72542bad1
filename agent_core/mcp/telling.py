"""What the person is told of a session's MCP servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_core.mcp.specs import ServerStatus

_SHOWN_TOOLS = 30


def waiting(servers: Iterable[ServerStatus]) -> str:
    """«Waiting for MCP servers: a, b …»; '' when none is still connecting."""
    names = [server.name for server in servers if server.state == "connecting"]
    return f"Waiting for {_servers(names)}: {', '.join(names)} …" if names else ""


def still_waiting(servers: Iterable[ServerStatus]) -> str:
    """What is said when the wait is over and some are still connecting; '' otherwise."""
    names = [server.name for server in servers if server.state == "connecting"]
    if not names:
        return ""
    return f"Not yet connected, going on without: {_servers(names)} {', '.join(names)}."


def told(servers: Iterable[ServerStatus], already: set[str]) -> list[str]:
    """What is new to say: a sentence for each failure, its end, and for tools that had to be left out.

    Args:
        already: keys of what was said before; those of what is said now are added.
    """
    notes = []
    for server in servers:
        failed = f"failed {server.name}"
        if server.state == "failed" and _once(failed, already):
            notes.append(f"MCP server {server.name} could not be used: {server.error} {server.retry}".rstrip())
        if server.state == "ready" and failed in already:
            already.remove(failed)
            notes.append(f"MCP server {server.name} is connected now.")
        if server.left_out and _once(f"left out {server.name}", already):
            notes.append(f"Tools of MCP server {server.name} that are not offered: {'; '.join(server.left_out)}.")
    return notes


def table(servers: Sequence[ServerStatus]) -> str:
    """All servers with their state and tools, as Markdown."""
    if not servers:
        return "This session has no MCP servers. Editors give them to a session when they open it."
    rows = ["| server | state | tools |", "|---|---|---|"]
    rows += [f"| {_cell(server.name)} | {server.state} | {_tools(server)} |" for server in servers]
    notes = [f"- {server.name}: {server.error}" for server in servers if server.error]
    notes += [f"- {server.name}, not offered: {reason}" for server in servers for reason in server.left_out]
    return "\n".join([*rows, *([""] if notes else []), *notes])


def _servers(names: Sequence[str]) -> str:
    return "MCP server" if len(names) == 1 else "MCP servers"


def _once(key: str, already: set[str]) -> bool:
    if key in already:
        return False
    already.add(key)
    return True


def _tools(server: ServerStatus) -> str:
    shown = [f"`{name}`" for name in server.tools[:_SHOWN_TOOLS]]
    more = len(server.tools) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
