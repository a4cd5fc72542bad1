"""One server of a session: its task on the service loop, its state, its tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_core.mcp.connection import Line, Surroundings, connected
from agent_core.mcp.errors import McpCallFailed, McpFailure
from agent_core.mcp.failures import CLOSED, ended, in_words, quoted
from agent_core.mcp.peer import OnProgress, Peer, speaking
from agent_core.mcp.schemas import Schema, UnusableSchema, safe_schema, short_description
from agent_core.mcp.specs import ServerSpec, State

log = logging.getLogger(__name__)

_REASON_SECONDS = 5.0
_NOTICE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as its server names it, with a schema that models' servers take."""

    name: str
    description: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A server's state as it was last; replaced as a whole, so any thread may read it."""

    state: State = "connecting"
    error: str = ""
    tools: tuple[OfferedTool, ...] = ()
    left_out: tuple[str, ...] = ()


class Server:
    """Holds the connection to one server open. Its methods run on the service loop; `now` may be read anywhere.

    Args:
        on_change: called on the service loop after each change of `now`.
    """

    def __init__(self, spec: ServerSpec, around: Surroundings, on_change: Callable[[], None]) -> None:
        self.spec = spec
        self.now = Snapshot()
        self._around = around
        self._on_change = on_change
        self._line = Line()
        self._peer: Peer | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect, in the background."""
        self._task = asyncio.create_task(self._run(), name=f"mcp {self.spec.name}")

    async def end(self) -> None:
        """Close the connection and end the process; bounded."""
        task = self._task
        seconds = 2 * self._around.limits.close_seconds + 3
        if task is not None:
            for _ in range(2):  # the second time, whatever tidies up slowly is broken off
                task.cancel()
                await asyncio.wait({task}, timeout=seconds)
                if task.done():
                    break
                self.kill()
        self._become(Snapshot("closed", "", self.now.tools))

    def kill(self) -> None:
        """Kill its processes now; from any thread."""
        if self._line.child is not None:
            self._line.child.kill()

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> Mapping[str, Any]:
        """Call a tool; the answer is a `CallToolResult` as JSON.

        Raises:
            McpCallFailed: it did not do it. McpFailure: it is not there, or went away meanwhile.
        """
        peer = self._peer
        if peer is None or self.now.state != "ready":
            raise McpFailure(self._absence())
        seconds = self._around.limits.call_seconds
        try:
            # The SDK counts from the moment when the call is written: to a server that does not read, that is never.
            async with asyncio.timeout(seconds + _NOTICE_SECONDS):
                return await peer.call(tool, arguments, seconds, on_progress)
        except McpCallFailed as problem:
            said = f" The server said: {quoted(self.spec.hide(problem.words))}" if problem.words.strip() else ""
            raise McpCallFailed(f"{problem}{said}") from problem
        except TimeoutError as problem:
            raise McpCallFailed(f"It did not take the call within {seconds:g} s.") from problem
        except Exception as problem:
            await self._until_reason_is_known()
            if self.now.state == "ready":
                raise McpCallFailed(f"The call broke off. {self._told(problem)}") from problem
            raise McpFailure(self._absence()) from problem

    async def _run(self) -> None:
        spec, seconds = self.spec, self._around.limits.connect_seconds
        problem: BaseException
        try:
            async with asyncio.timeout(None) as limit:
                # The first server of all waits for the SDK, which is not its fault.
                self._line.loaded = lambda: limit.reschedule(asyncio.get_running_loop().time() + seconds)
                problem = await self._serve(limit)
        except TimeoutError:
            who = "It" if spec.transport == "stdio" else spec.place()
            problem = McpFailure(f"{who} did not answer within {seconds:g} s.")
        except (Exception, BaseExceptionGroup) as found:  # noqa: BLE001 - whatever it is, only this server fails
            problem = found
        finally:
            self._peer = None
        reason = in_words(problem, spec, self._line.heard)
        log.warning("MCP server %s failed: %s", spec.name, reason)
        log.debug("the failure of MCP server %s", spec.name, exc_info=problem)
        self._become(Snapshot("failed", reason, self.now.tools, self.now.left_out))

    async def _serve(self, limit: asyncio.Timeout) -> McpFailure:
        """Be connected until the server goes away; returns why it did. `limit` ends with the list of tools."""
        line, limits = self._line, self._around.limits
        async with connected(self.spec, self._around, line) as streams, speaking(*streams) as peer:
            await peer.greet()
            tools, left_out = _usable(await peer.tools(limits.most_tools))
            limit.reschedule(None)
            self._peer = peer
            self._become(Snapshot("ready", "", tools, left_out))
            log.info("MCP server %s is connected: %d tools", self.spec.name, len(tools))
            await line.over.wait()
            return line.failure or McpFailure(CLOSED)

    async def _until_reason_is_known(self) -> None:
        """Give the end of the connection time to be noticed, if it is one."""
        seconds = _REASON_SECONDS if self._line.over.is_set() else _NOTICE_SECONDS
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=seconds)

    def _absence(self) -> str:
        match self.now.state:
            case "connecting":
                return "It is still starting. Try again a little later."
            case "closed":
                return "Its session was closed."
            case _:
                return self.now.error

    def _told(self, problem: Exception) -> str:
        text = self.spec.hide(str(problem) or type(problem).__name__)
        return ended(text) if isinstance(problem, McpFailure) else f"What went wrong: {quoted(text)}"

    def _become(self, now: Snapshot) -> None:
        self.now = now
        self._on_change()


def _usable(raw: list[Mapping[str, Any]]) -> tuple[tuple[OfferedTool, ...], tuple[str, ...]]:
    """The tools that can be offered, and for the others why not."""
    tools: dict[str, OfferedTool] = {}
    left_out: list[str] = []
    for tool in raw:
        name = tool.get("name")
        if not isinstance(name, str) or not name or name in tools:
            left_out.append(f"{name!r}: its name is missing or taken")
            continue
        try:
            schema = safe_schema(tool.get("inputSchema"))
        except UnusableSchema as problem:
            left_out.append(f"{name}: {problem}")
            continue
        tools[name] = OfferedTool(name, short_description(tool.get("description") or tool.get("title")), schema)
    return tuple(tools.values()), tuple(left_out)
