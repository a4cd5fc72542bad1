"""The MCP servers of one session."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from agent_core.mcp.connection import Surroundings
from agent_core.mcp.entries import tool_entries
from agent_core.mcp.errors import McpCallFailed, McpFailure
from agent_core.mcp.names import server_labels, tool_names
from agent_core.mcp.results import to_result
from agent_core.mcp.server import Server
from agent_core.mcp.service_loop import ServiceLoop
from agent_core.mcp.specs import McpLimits, ServerSpec, ServerStatus
from tools.context import Interrupt
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted
from tools.registry import ToolEntry
from tools.result import ToolResult, error

_END_SECONDS = 20.0
_MOST_NOTES = 200


class SessionServers:
    """The servers of one session; safe to use from several threads. Its methods block: never call them on a loop
    (`start`, `status` and `entries` do not). Implements `tools.mcp_port.McpTools`.

    Args:
        specs: names are unique among them.
        cwd: where their processes run.
        loop, guardian: the process's one.
        variables: what their environment is made from; the process's own variables when None.
    """

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        cwd: Path,
        *,
        loop: ServiceLoop,
        guardian: Guardian,
        limits: McpLimits | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        around = Surroundings(cwd, guardian, os.environ if variables is None else variables, limits or McpLimits())
        self._servers = {spec.name: Server(spec, around, self._changed) for spec in specs}
        self._labels = server_labels(self._servers)
        self._loop = loop
        self._news = threading.Condition()
        self._entries: tuple[ToolEntry, ...] = ()
        self._revision = 0
        self._is_started = self._is_closed = False

    def __bool__(self) -> bool:
        return bool(self._servers)

    @property
    def revision(self) -> int:
        """Changes with each change of a server's state."""
        return self._revision

    def start(self) -> None:
        """Connect to all of them in the background; returns at once. Only the first call has an effect."""
        with self._news:
            if self._is_started or not self._servers:
                return
            self._is_started = True
        self._loop.submit(self._start_all())

    def wait(self, seconds: float, interrupt: Interrupt) -> None:
        """Wait until each of them is connected or has failed, or the turn is cancelled; at most so long."""
        forget = interrupt.on_cancel(self._wake)
        try:
            with self._news:
                self._news.wait_for(lambda: interrupt.is_set() or not self._is_connecting(), seconds)
        finally:
            forget()

    def status(self) -> tuple[ServerStatus, ...]:
        """How each of them is doing, in the order in which they were given."""
        found = []
        for name, server in self._servers.items():
            now = server.now
            names = tool_names(self._labels[name], (tool.name for tool in now.tools))
            tools = tuple(sorted(names.values()))
            found.append(ServerStatus(name, now.state, now.error, tools, now.left_out))
        return tuple(found)

    def entries(self) -> tuple[ToolEntry, ...]:
        """The tools of the servers that are, or were, connected, by name; calls of one that is gone say so."""
        return self._entries

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
    ) -> ToolResult:
        """Call a tool of a server, on a worker thread; see the port.

        Raises:
            ToolInterrupted: the turn was cancelled; the server has been told.
        """
        found = self._servers.get(server)
        if found is None:
            return error(f"There is no MCP server {server!r} in this session.")
        if interrupt.is_set():
            raise ToolInterrupted
        # What the server tells may have to wait for the editor; that must not hold up the loop of all servers.
        events: SimpleQueue[str] = SimpleQueue()
        future = self._loop.submit(found.call(tool, arguments, events.put))
        future.add_done_callback(lambda _: events.put(""))
        forget = interrupt.on_cancel(lambda: events.put(""))
        try:
            _follow(future, events, interrupt, progress)
        finally:
            forget()
            future.cancel()  # has no effect on one that is done
        if future.cancelled():
            raise ToolInterrupted
        return _result(server, future)

    def close(self) -> None:
        """End all of them: their processes are gone when it returns. Bounded; nothing can be called afterwards."""
        with self._news:
            if self._is_closed:
                return
            self._is_closed = True
            if not self._is_started:
                return
        try:
            self._loop.submit(self._end_all()).result(_END_SECONDS)
        except TimeoutError:
            for server in self._servers.values():
                server.kill()

    async def _start_all(self) -> None:
        if not self._is_closed:
            for server in self._servers.values():
                server.start()

    async def _end_all(self) -> None:
        await asyncio.gather(*(server.end() for server in self._servers.values()))

    def _is_connecting(self) -> bool:
        return self._is_started and any(server.now.state == "connecting" for server in self._servers.values())

    def _changed(self) -> None:
        entries = [
            entry
            for name, server in self._servers.items()
            for entry in tool_entries(name, self._labels[name], server.now.tools)
        ]
        with self._news:
            self._entries = tuple(sorted(entries, key=lambda entry: entry.name))
            self._revision += 1
            self._news.notify_all()

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()


def _follow(
    future: Future[Mapping[str, Any]],
    events: SimpleQueue[str],
    interrupt: Interrupt,
    progress: Callable[[str], None],
) -> None:
    """Pass on what the call tells until it is over or the turn is."""
    shown = 0
    while not interrupt.is_set():
        note = events.get()
        if not note and future.done():  # and all that it has told before is passed on
            return
        if note and shown < _MOST_NOTES:
            shown += 1
            progress(note)


def _result(server: str, future: Future[Mapping[str, Any]]) -> ToolResult:
    try:
        return to_result(future.result())
    except McpCallFailed as problem:
        return error(f"MCP server {server!r}: {problem}")
    except McpFailure as problem:
        return error(f"MCP server {server!r} cannot be used: {problem} Go on without it.")
