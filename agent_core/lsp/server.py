"""One language server of a session: started at the first question, and again when it dies, but not for ever."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from agent_core.lsp.documents import Documents
from agent_core.lsp.errors import LspFailure
from agent_core.lsp.greeting import Greeting, greet, settings_section
from agent_core.lsp.languages import Command, Places
from agent_core.lsp.peer import Peer
from agent_core.mcp.child import Child
from agent_core.mcp.errors import McpFailure
from agent_core.mcp.specs import ServerSpec
from tools.environments.guardian import Guardian
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_GRACE_SECONDS = 0.5
_SHUTDOWN_SECONDS = 1.0
_SHOWN_WORDS = 300


@dataclass(frozen=True, slots=True)
class LspLimits:
    """Limits for every server.

    Attributes:
        wait: seconds an edit waits for what is said of it, the server's start included.
        start: seconds a server has until it answers the first message.
        pauses: seconds before each new start of a server that died; when they are used up, it stays dead.
        silences: so many edits in a row without an answer, and it is not asked any more.
        quiet: seconds without news after which a server has said all about a text.
    """

    wait: float = 3.0
    start: float = 60.0
    pauses: tuple[float, ...] = (0.5, 2.0, 8.0)
    silences: int = 5
    quiet: float = 0.15


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all servers of a session have in common; `note` gets what the person should know."""

    places: Places
    guardian: Guardian
    limits: LspLimits
    note: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Running:
    """A server that has been greeted."""

    peer: Peer
    greeting: Greeting
    documents: Documents


class LanguageServer:
    """Keeps one server running. Its methods run on the service loop.

    Args:
        name: for people, as «pylsp».
    """

    def __init__(self, name: str, command: Command, around: Surroundings) -> None:
        self.name = name
        self._command = command
        self._around = around
        self._running: Running | None = None
        self._child: Child | None = None
        self._news = asyncio.Event()
        self._silent = 0
        self._is_off = False
        self._task = asyncio.create_task(self._keep(), name=f"language server {name}")

    @property
    def is_off(self) -> bool:
        """It died too often, or never answered: it is not asked any more."""
        return self._is_off

    @property
    def is_ready(self) -> bool:
        """It runs and has been greeted."""
        return self._running is not None

    async def ready(self) -> Running:
        """The running server, as soon as there is one.

        Raises:
            LspFailure: there will be none.
        """
        while self._running is None:
            if self._is_off:
                raise LspFailure(f"{self.name} is off.")
            self._news.clear()
            await self._news.wait()
        return self._running

    def heard(self) -> None:
        """It has answered."""
        self._silent = 0

    def unheard(self) -> None:
        """It let an edit wait in vain."""
        self._silent += 1
        if self._silent >= self._around.limits.silences:
            self._off(f"{self._silent} edits in a row got no answer within {self._around.limits.wait:g} s.")

    async def end(self) -> None:
        """Shut it down and end its process; bounded."""
        self._is_off = True
        self._news.set()
        for _ in range(2):  # the second time, whatever tidies up slowly is broken off
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=4 * _GRACE_SECONDS + _SHUTDOWN_SECONDS + 1)
            if self._task.done():
                return
            self.kill()

    def kill(self) -> None:
        """Kill its processes now; from any thread."""
        if self._child is not None:
            self._child.kill()

    async def _keep(self) -> None:
        reason = ""
        for pause in (0.0, *self._around.limits.pauses):
            await asyncio.sleep(pause)
            try:
                reason = str(await self._serve())
            except (McpFailure, OSError) as problem:  # its program cannot be started
                reason = str(problem)
                break
            log.warning("language server %s ended: %s", self.name, reason)
            if self._is_off:
                return
        self._off(reason)

    async def _serve(self) -> LspFailure:
        """Run the program once, until it ends; returns why it did."""
        places = self._around.places
        environment = places.environment()
        own = {"PATH": places.path()} | ({} if environment is None else {"VIRTUAL_ENV": str(environment)})
        program, *arguments = self._command
        spec = ServerSpec(self.name, "stdio", program, tuple(arguments), env=tuple(own.items()))
        child = await Child.start(spec, places.roots[0], self._around.guardian, places.variables)
        self._child, reason = child, LspFailure("")
        try:
            reason = await self._talk(child)
        finally:
            self._child = None
            await child.end(_GRACE_SECONDS)
        words = " ".join(child.last_words().split())[-_SHOWN_WORDS:]
        return LspFailure(f"{reason} It {child.ended_how()}." + (f" Its last words: {words}" if words else ""))

    async def _talk(self, child: Child) -> LspFailure:
        peer = Peer(child, self._hear, lambda name: settings_section(name, self._around.places))
        reading = asyncio.create_task(peer.run())
        try:
            try:
                async with asyncio.timeout(self._around.limits.start):
                    greeting = await greet(peer, self._around.places.roots)
            except TimeoutError:
                return LspFailure(f"It did not answer within {self._around.limits.start:g} s.")
            except LspFailure as problem:
                return problem
            quiet = self._around.limits.quiet
            documents = Documents(peer, self.name, wants_saves=greeting.wants_saves, quiet=quiet)
            self._running = Running(peer, greeting, documents)
            self._news.set()
            await asyncio.wait({reading})
            ended = reading.exception()
            return ended if isinstance(ended, LspFailure) else LspFailure(f"Reading failed: {ended!r}.")
        finally:
            running, self._running = self._running, None
            if running is not None:
                running.documents.end()
            await self._part(peer, reading, politely=running is not None)

    @staticmethod
    async def _part(peer: Peer, reading: asyncio.Task[None], *, politely: bool) -> None:
        if politely and not reading.done():
            with contextlib.suppress(LspFailure, TimeoutError):
                async with asyncio.timeout(_SHUTDOWN_SECONDS):
                    await peer.request("shutdown")
                    peer.notify("exit")
                    await asyncio.wait({reading})
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        if method == "textDocument/publishDiagnostics" and self._running is not None:
            self._running.documents.publish(params)

    def _off(self, reason: str) -> None:
        if self._is_off:
            return
        self._is_off = True
        self._news.set()
        self._task.cancel()
        where = os.path.basename(self._command[0])  # noqa: PTH119 - text
        self._around.note(
            f"The language server {where} is not asked any more in this session: {reason} "
            "Try it in a terminal, or name another one in the settings (lsp.servers)."
        )
