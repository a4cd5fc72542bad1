"""The MCP servers of one session."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from agent_core.mcp.connection import Surroundings
from agent_core.mcp.names import server_labels, tool_names
from agent_core.mcp.oauth import ServerTokens
from agent_core.mcp.offers import OfferedPrompt, OfferedResource, ToolShelf, to_contents, to_result, to_words
from agent_core.mcp.server import Server
from agent_core.mcp.server_requests import Events, Sampler, Wish, grant
from agent_core.mcp.specs import McpCallFailed, McpFailure, McpLimits, ServerSpec, ServerStatus
from agent_core.service_loop import ServiceLoop
from agent_core.settings.mcp import ToolSearch
from tools.agent_ports import Behalf
from tools.approval.actions import ToolPin, pin_of
from tools.environments.guardian import Guardian
from tools.errors import ToolInterrupted
from tools.ports import Interrupt
from tools.registry import ToolEntry
from tools.result import ToolResult, error

_END_SECONDS = 20.0
_MOST_NOTES = 200
_MOST_LISTED = 300
_TRIED_BY_CALLS = "It is connected: its next call is tried all the same."

Raw = Mapping[str, Any]
Asking = Coroutine[Any, Any, Raw]


class SessionServers:
    """The servers of one session; safe to use from several threads. Its methods block: never call them on a loop
    (`start`, `status`, `entries`, `prompts` and `locate` do not). Implements `tools.agent_ports.McpServers`.

    Args:
        specs: names are unique among them.
        cwd: where their processes run.
        loop, guardian: the process's one.
        variables: what their environment is made from; the process's own variables when None.
        roots: the session's directories, which servers may ask for; `cwd` when empty.
        sampler: who answers what servers ask a model; None: nobody.
        tokens: the sign-ins that are stored.
        search, search_share: as in `ToolShelf`.
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
        roots: Sequence[Path] = (),
        sampler: Sampler | None = None,
        tokens: ServerTokens | None = None,
        search: ToolSearch = "auto",
        search_share: float = 0.1,
    ) -> None:
        around = Surroundings(
            cwd,
            guardian,
            os.environ if variables is None else variables,
            limits or McpLimits(),
            tuple(roots) or (cwd,),
            sampler is not None,
            tokens,
        )
        self._servers = {spec.name: Server(spec, around, self._changed) for spec in specs}
        self._labels = server_labels(self._servers)
        self._shelf = ToolShelf(self._labels, search, search_share)
        self._sampler = sampler
        self._loop = loop
        self._news = threading.Condition()
        self._is_started = self._is_closed = False
        self._owner = ""
        # When one of them was connected last, on the monotonic clock; None before the first.
        self._ready_at: float | None = None
        self._ready: set[str] = set()
        # Told, on the service loop, when there are other prompts; it must not wait.
        self.on_prompts: Callable[[], None] = lambda: None
        self._prompts: tuple[tuple[str, OfferedPrompt], ...] = ()

    def __bool__(self) -> bool:
        return bool(self._servers)

    def start(self) -> None:
        """Connect to all of them in the background; returns at once. Only the first call has an effect."""
        with self._news:
            if self._is_started or not self._servers:
                return
            self._is_started = True
        self._loop.submit(self._start_all())

    def wait(self, seconds: float, interrupt: Interrupt, others: float = math.inf) -> None:
        """Wait until each of them is connected or has failed, or the turn is cancelled; at most so long.

        Args:
            others: seconds that the others get once one is connected, from the latest on.
        """
        forget, until = interrupt.on_cancel(self._wake), time.monotonic() + seconds
        try:
            with self._news:
                while self._is_connecting() and not interrupt.is_set():
                    ends = until if self._ready_at is None else min(until, self._ready_at + others)
                    if (left := ends - time.monotonic()) <= 0:
                        return
                    self._news.wait(left)
        finally:
            forget()

    def reconnect(self, server: str) -> bool:
        """Connect to a server anew, in the background; False where there is none of that name."""
        found = self._servers.get(server)
        if found is None or not self._is_started or self._is_closed:
            return False
        self._loop.submit(_calling(found.reconnect)).result(_END_SECONDS)
        return True

    def status(self) -> tuple[ServerStatus, ...]:
        """How each of them is doing, in the order in which they were given."""
        found = []
        for name, server in self._servers.items():
            now = server.now
            names = tool_names(self._labels[name], (tool.name for tool in now.tools))
            state, error, retry = now.state, now.error, now.retry
            if state == "ready" and now.fault:
                state, error, retry = "failed", f"Its calls fail. {now.fault}", _TRIED_BY_CALLS
            tools = tuple(sorted(names.values()))
            counts = len(now.prompts), len(now.resources)
            found.append(ServerStatus(name, state, error, tools, now.left_out, retry, *counts))
        return tuple(found)

    def entries(self) -> tuple[ToolEntry, ...]:
        """The tools of the servers that are, or were, connected, by name; calls of one that is gone say so."""
        return self._shelf.entries

    def fit(self, window: int | None, session_id: str = "") -> None:
        """The session's model takes so many tokens; None where that is not known.

        Args:
            session_id: whose model; what the first who asked has is not changed for the sub-agents that follow.
        """
        with self._news:
            self._owner = self._owner or session_id
            if session_id == self._owner:
                self._shelf.fit(window)

    def prompts(self) -> tuple[tuple[str, str, OfferedPrompt], ...]:
        """The servers' prompts: server, its name as models' names have it, prompt."""
        return tuple((server, self._labels[server], prompt) for server, prompt in self._prompts)

    def prompt(self, server: str, name: str, arguments: Mapping[str, str], interrupt: Interrupt) -> ToolResult:
        """The words of a server's prompt, as one text; blocks.

        Raises:
            ToolInterrupted: `interrupt` came first.
        """
        return self._ask(server, lambda found, events: found.prompt(name, arguments, events), to_words, interrupt)

    def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        """Call a tool of a server, on a worker thread; see the port.

        Raises:
            ToolInterrupted: the turn was cancelled; the server has been told.
        """

        def ask(found: Server, events: Events) -> Asking:
            return found.call(tool, arguments, events)

        return self._ask(server, ask, to_result, interrupt, progress=progress, behalf=behalf)

    def read(
        self,
        server: str,
        uri: str,
        interrupt: Interrupt,
        progress: Callable[[str], None],
        *,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        """Read a resource of a server; see the port.

        Raises:
            ToolInterrupted: the turn was cancelled; the server has been told.
        """

        def ask(found: Server, events: Events) -> Asking:
            return found.read(uri, events)

        return self._ask(server, ask, to_contents, interrupt, progress=progress, behalf=behalf)

    def pins(self, server: str) -> Mapping[str, ToolPin]:
        """What its tools are now; see the port."""
        found = self._servers.get(server)
        if found is None:
            return {}
        return {"": pin_of(found.program, {}), **{tool.name: tool.pin for tool in found.now.tools}}

    def resources(self, server: str) -> str:
        """The resources as lines; see the port."""
        lines = [
            f"{name}  {_listed(resource)}"
            for name, found in self._servers.items()
            if server in {"", name}
            for resource in found.now.resources
        ]
        more = len(lines) - _MOST_LISTED
        shown = [*lines[:_MOST_LISTED], *([f"… and {more} more"] if more > 0 else [])]
        return "\n".join(shown) or f"There are no resources{f' of a server {server!r}' if server else ''}."

    def find(self, query: str) -> str:
        """Tools behind the search; see the port."""
        return self._shelf.find(query)

    def locate(self, name: str) -> tuple[str, str] | None:
        """What a tool's name means; see the port."""
        return self._shelf.locate(name)

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

    def _ask(
        self,
        server: str,
        ask: Callable[[Server, Events], Asking],
        told: Callable[[Raw], ToolResult],
        interrupt: Interrupt,
        *,
        progress: Callable[[str], None] = lambda _: None,
        behalf: Behalf | None = None,
    ) -> ToolResult:
        found = self._servers.get(server)
        if found is None:
            names = ", ".join(self._servers)
            return error(f"There is no MCP server {server!r} in this session. There are: {names}.")
        if interrupt.is_set():
            raise ToolInterrupted
        # What the server tells may have to wait for the editor; that must not hold up the loop of all servers.
        events: Events = SimpleQueue()
        future = self._loop.submit(ask(found, events))
        future.add_done_callback(lambda _: events.put(""))
        forget = interrupt.on_cancel(lambda: events.put(""))

        def allow(wish: Wish) -> None:
            forget_wish = interrupt.on_cancel(wish.over.cancel)
            try:
                grant(wish, found.spec, behalf, self._sampler)
            finally:
                forget_wish()

        try:
            _follow(future, events, interrupt, progress, allow)
        finally:
            forget()
            future.cancel()  # has no effect on one that is done
        if future.cancelled():
            raise ToolInterrupted
        return _result(server, future, told)

    async def _start_all(self) -> None:
        if not self._is_closed:
            for server in self._servers.values():
                server.start()

    async def _end_all(self) -> None:
        await asyncio.gather(*(server.end() for server in self._servers.values()))

    def _is_connecting(self) -> bool:
        return self._is_started and any(server.now.state == "connecting" for server in self._servers.values())

    def _changed(self) -> None:
        with self._news:
            self._shelf.update({name: server.now for name, server in self._servers.items()})
            prompts = tuple((name, prompt) for name, server in self._servers.items() for prompt in server.now.prompts)
            changed, self._prompts = prompts != self._prompts, prompts
            ready = {name for name, server in self._servers.items() if server.now.state == "ready"}
            if ready - self._ready:
                self._ready_at = time.monotonic()
            self._ready = ready
            self._news.notify_all()
        if changed:
            self.on_prompts()

    def _wake(self) -> None:
        with self._news:
            self._news.notify_all()


async def _calling(function: Callable[[], None]) -> None:
    function()


def _follow(
    future: Future[Raw],
    events: Events,
    interrupt: Interrupt,
    progress: Callable[[str], None],
    allow: Callable[[Wish], None],
) -> None:
    """Pass on what the call tells, and grant what it wants, until it is over or the turn is."""
    shown = 0
    while not interrupt.is_set():
        note = events.get()
        if isinstance(note, Wish):
            allow(note)
        elif not note and future.done():  # and all that it has told before is passed on
            return
        elif note and shown < _MOST_NOTES:
            shown += 1
            progress(note)


def _result(server: str, future: Future[Raw], told: Callable[[Raw], ToolResult]) -> ToolResult:
    try:
        return told(future.result())
    except McpCallFailed as problem:
        return error(f"MCP server {server!r}: {problem}")
    except McpFailure as problem:
        return error(f"MCP server {server!r} cannot be used: {problem} Go on without it.")


def _listed(resource: OfferedResource) -> str:
    kind = " (template: fill in the braces)" if resource.is_template else ""
    about = " – ".join(part for part in (resource.name, resource.description) if part)
    return f"{resource.uri}{f' [{resource.kind}]' if resource.kind else ''}{kind}{f'  {about}' if about else ''}"
