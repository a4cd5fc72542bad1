"""A session's workspace with what the editor lends it: its unsaved files, and its terminals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.endings import EndingHabits
from acp_adapter.editor_calls import EditorCalls
from agent_core.interrupt import CancelToken
from agent_core.workspace import Workspace
from tools.ports import FileSystem
from tools.registry import Toolbox

if TYPE_CHECKING:
    from agent_core.mcp.session_servers import SessionServers


def with_servers(workspace: Workspace, servers: SessionServers | None) -> Workspace:
    """The workspace with the tools of the session's MCP servers."""
    if servers is None:
        return workspace
    others = workspace.tools
    return replace(workspace, tools=Toolbox(lambda: (*others.extra(), *servers.entries())), mcp=servers)


def with_editor_files(
    workspace: Workspace, calls: EditorCalls, client: ClientCapabilities, endings: EndingHabits
) -> Workspace:
    """The workspace with files as the editor has them, where it lets us see or write them.

    Args:
        endings: what the client does to ends of files, in all of its sessions.
    """
    if not (client.read_files or client.write_files):
        return workspace
    from acp_adapter.client_io.files import EditorFileSystem  # noqa: PLC0415 - not every editor has them
    from acp_adapter.client_io.memory import EditorMemory  # noqa: PLC0415

    disk, memory = workspace.files, EditorMemory(endings)
    # What is this machine's of a session with a copy elsewhere is what the copy was made of.
    roots = workspace.roots if workspace.copied is None else (workspace.client_cwd,)

    def files(token: CancelToken) -> FileSystem:
        return EditorFileSystem(disk(token), calls, client, token, memory, roots)

    return replace(workspace, files=files)


def with_editor_terminals(
    workspace: Workspace,
    calls: EditorCalls,
    client: ClientCapabilities,
    chosen: Callable[[], bool],
    show: Callable[[str, str], None],
) -> Workspace:
    """The workspace with the editor's terminals for its commands, where it has some and the person chose them.

    Args:
        chosen: whether they are chosen now.
        show: puts a terminal on the card of the call that runs in it: (call id, terminal id).
    """
    if not client.terminals or workspace.elsewhere is not None:  # the editor's terminals are on its machine
        return workspace
    from acp_adapter.client_io.terminals import EditorTerminals  # noqa: PLC0415 - few people choose them

    terminals = EditorTerminals(workspace.terminal, calls, chosen, show, workspace.settings.terminal)
    # What the editor starts, nobody here can confine.
    elsewhere = lambda: "it would run in the editor's own terminal" if chosen() else ""  # noqa: E731
    return replace(workspace, terminal=terminals, containment=replace(workspace.containment, elsewhere=elsewhere))
