"""One server of a session: its task on the service loop, its state, what it offers.

A server that goes away is connected again by itself, after pauses that grow while it does not stay. Meanwhile its
tools are still named, so that the model's list stays as it is, and calls say what happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from agent_core.mcp.connection import Line, Surroundings, connected
from agent_core.mcp.errors import McpCallFailed, McpFailure, McpServerFault, McpSessionEnded
from agent_core.mcp.failures import CLOSED, ended, in_words, is_lasting, quoted
from agent_core.mcp.inbound import Events, Inbound, RunningCall
from agent_core.mcp.keeping_alive import keep_alive
from agent_core.mcp.oauth import signs_in
from agent_core.mcp.offers import Snapshot, usable_prompts, usable_resources, usable_tools
from agent_core.mcp.peer import Offers, Peer, speaking
from agent_core.mcp.specs import McpLimits, ServerSpec, State

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_REASON_SECONDS = 5.0
_NOTICE_SECONDS = 1.0
_CALM_SECONDS = 1.0
_LAST_ANSWERS_SECONDS = 1.0
_CUT_OFF = (
    "The server lost its session while the call ran: nobody knows how far it came. Look before you call it again."
)
_NO_SESSION = "It does not know the session that has just begun either: nothing can be called."


class Server:
    """Holds the connection to one server open. Its methods run on the service loop; `now` may be read anywhere.

    Args:
        on_change: called on the service loop after each change of `now`.
    """

    def __init__(self, spec: ServerSpec, around: Surroundings, on_change: Callable[[], None]) -> None:
        self.spec = spec
        self.program = spec.program(around.variables.get("PATH"))
        self.now = Snapshot()
        self._around = around
        self._limits = _own_limits(spec, around.limits)
        self._on_change = on_change
        self._line = Line()
        self._peer: Peer | None = None
        self._running = 0
        # The end of a process is seen.
        self._ping_every = 0.0 if spec.transport == "stdio" else spec.policy.ping_every
        self._task: asyncio.Task[None] | None = None
        self._inbound = Inbound(spec, around.roots, samples=around.samples, changed=self._note_change)
        self._stale, self._hurry, self._settled = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._changed = asyncio.Event()  # another one after each change of `now`

    def start(self) -> None:
        """Connect, in the background."""
        self._task = asyncio.create_task(self._run(), name=f"mcp {self.spec.name}")

    def reconnect(self) -> None:
        """Connect again now, where it failed, or begin anew where it did not."""
        if self._task is None or self.now.state == "closed":
            return
        self._become(replace(self.now, state="connecting", error="", retry="", fault=""))
        if self._task.done():
            self.start()
        elif self._peer is not None:
            self._line.give_up(McpFailure("It was asked to connect again."))
            self._hurry.set()
        else:
            self._hurry.set()

    async def end(self) -> None:
        """Close the connection and end the process; bounded."""
        task = self._task
        seconds = 2 * self._limits.close_seconds + 3
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

    async def call(self, tool: str, arguments: Mapping[str, Any], events: Events) -> Mapping[str, Any]:
        """Call a tool that the settings let be used; the answer is a `CallToolResult` as JSON.

        Args:
            events: what it tells and wants meanwhile.

        Raises:
            McpCallFailed: it did not do it. McpFailure: it is not there, or went away meanwhile.
        """
        if not self.spec.policy.uses(tool):
            raise McpCallFailed(f"Its tool {tool!r} is not used (tools.include and tools.exclude in the settings).")
        _check(arguments)
        return await self._asked(lambda peer, call: peer.call(tool, arguments, call.tell), events)

    async def read(self, uri: str, events: Events) -> Mapping[str, Any]:
        """The contents of a resource, as JSON.

        Raises:
            McpCallFailed, McpFailure: as `call` does.
        """
        if not self.spec.policy.resources:
            raise McpCallFailed("Its resources are not used (tools.resources in the settings).")
        _check(uri)
        return await self._asked(lambda peer, _: peer.read(uri), events)

    async def prompt(self, name: str, arguments: Mapping[str, str], events: Events) -> Mapping[str, Any]:
        """The words of a prompt, as JSON.

        Raises:
            McpCallFailed, McpFailure: as `call` does.
        """
        if not self.spec.policy.prompts:
            raise McpCallFailed("Its prompts are not used (tools.prompts in the settings).")
        _check(arguments)
        return await self._asked(lambda peer, _: peer.prompt(name, arguments), events)

    async def _asked(self, ask: Callable[[Peer, RunningCall], Awaitable[_T]], events: Events) -> _T:
        running, seconds = RunningCall(events), self._limits.call_seconds
        self._running += 1
        try:
            with self._inbound.serving(running):
                async with asyncio.timeout(seconds) as running.limit:
                    return await self._in_a_session(ask, running)
        except TimeoutError as problem:
            raise McpCallFailed(f"It did not answer within {seconds:g} s and was told to stop.") from problem
        finally:
            self._running -= 1

    async def _in_a_session(self, ask: Callable[[Peer, RunningCall], Awaitable[_T]], running: RunningCall) -> _T:
        """Ask, and once more in a new session if the server did not know the one that it was asked in."""
        peer = self._peer
        if peer is None:
            raise McpFailure(self._absence())
        try:
            return await self._answer(peer, ask, running)
        except McpSessionEnded as ended:
            log.info("MCP server %s does not know its session any more", self.spec.name)
            if (peer := await self._successor(peer)) is None:
                raise McpFailure(self._absence()) from ended
        try:
            return await self._answer(peer, ask, running)
        except McpSessionEnded as again:
            self._note_fault(_NO_SESSION)
            raise McpServerFault(_NO_SESSION) from again

    async def _answer(
        self, peer: Peer, ask: Callable[[Peer, RunningCall], Awaitable[_T]], running: RunningCall
    ) -> _T:
        line = self._line
        try:
            with line.calling():
                found = await ask(peer, running)
        except McpSessionEnded as problem:
            line.give_up(problem)
            raise
        except McpCallFailed as problem:
            said = f" The server said: {quoted(self.spec.hide(problem.words))}" if problem.words.strip() else ""
            self._note_fault(f"{problem}{said}" if isinstance(problem, McpServerFault) else "")
            raise McpCallFailed(f"{problem}{said}") from problem
        except Exception as problem:
            if isinstance(problem, McpFailure) and self.spec.transport != "stdio":
                line.give_up(problem)  # no pipe ends, so that nobody else would notice
            if isinstance(line.failure, McpSessionEnded):
                raise McpCallFailed(_CUT_OFF) from problem
            await self._until_reason_is_known(line)
            if self._peer is peer:
                raise McpCallFailed(f"The call broke off. {self._told(problem)}") from problem
            raise McpFailure(self._absence()) from problem
        self._note_fault("")
        return found

    async def _successor(self, gone: Peer) -> Peer | None:
        """The server in the session that follows; None where there is none."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.connect_seconds):
                while self._peer is gone or self.now.state == "connecting":
                    await self._changed.wait()
        return self._peer if self._peer is not gone else None

    def _note_fault(self, fault: str) -> None:
        if self.now.fault != fault:
            self._become(replace(self.now, fault=fault))

    async def _run(self) -> None:
        if self.spec.problem:
            self._become(Snapshot("failed", self.spec.problem))
            return
        failures = 0
        while True:
            signed_in, began = await self._sign_in(), asyncio.get_running_loop().time()
            self._line, self._settled = Line(), asyncio.Event()
            problem, was_ready = await self._attempt()
            stayed = was_ready and asyncio.get_running_loop().time() - began >= self._limits.stable_seconds
            failures = 1 if stayed else failures + 1
            pause = self._pause(problem, failures)
            self._fail(problem, pause)
            if pause is None and not await self._waited_for_person(signed_in):
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause or 0):
                    await self._hurry.wait()
            self._hurry.clear()

    async def _waited_for_person(self, signed_in: str) -> bool:
        """Wait until it was asked to connect again, or somebody has signed in, here or in another process; False
        where that could help nothing.
        """
        can_sign_in = self._around.tokens is not None and signs_in(self.spec)
        while can_sign_in and not self._hurry.is_set():
            if await self._sign_in() != signed_in:
                self._become(replace(self.now, state="connecting", error="", retry="", fault=""))
                return True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.sign_in_seconds):
                    await self._hurry.wait()
        return self._hurry.is_set()

    async def _sign_in(self) -> str:
        """What tells the sign-in that is stored from another."""
        tokens = self._around.tokens
        if tokens is None or not signs_in(self.spec):
            return ""
        return await asyncio.to_thread(tokens.mark, self.spec.url)

    async def _attempt(self) -> tuple[BaseException, bool]:
        """Connect and stay so until it is over: why, and whether it had been connected."""
        spec, seconds = self.spec, self._limits.connect_seconds
        problem: BaseException
        before = self.now
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
        problem = self._line.failure or problem  # what we gave up for is not always what came of that
        return problem, self.now.state == "ready" and self.now is not before

    async def _serve(self, limit: asyncio.Timeout) -> McpFailure:
        """Be connected until the server goes away; returns why it did. `limit` ends with the list of tools."""
        line, limits = self._line, self._limits
        async with (
            connected(self.spec, self._around, line) as streams,
            speaking(*streams, self._inbound) as peer,
        ):
            await peer.greet()
            self._stale.clear()
            offers = await peer.offers(limits.most_tools, self.spec.policy, limits.extras_seconds)
            limit.reschedule(None)
            self._peer = peer
            self._take(offers)
            log.info("MCP server %s is connected: %d tools", self.spec.name, len(self.now.tools))
            pings = keep_alive(peer, self._ping_every, limits.ping_seconds, lambda: self._running > 0, line.give_up)
            doing = (self._follow(peer), peer.listen(self._note_change), pings)
            beside = tuple(map(asyncio.create_task, doing))
            try:
                await line.over.wait()
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
            if isinstance(line.failure, McpSessionEnded):
                await self._let_calls_end(line)
            return line.failure or McpFailure(CLOSED)

    async def _let_calls_end(self, line: Line) -> None:
        """Calls that ran at the same time have a moment for answers of their own: they may be refused alike."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_ANSWERS_SECONDS):
                await line.idle.wait()

    async def _follow(self, peer: Peer) -> None:
        """Ask again for what it offers when that has changed; many changes at once are one."""
        while True:
            await self._stale.wait()
            self._stale.clear()
            try:
                async with asyncio.timeout(self._limits.connect_seconds):
                    self._take(
                        await peer.offers(self._limits.most_tools, self.spec.policy, self._limits.extras_seconds)
                    )
            except Exception as problem:  # the old list stands; if the connection is over, that is told elsewhere
                if isinstance(problem, McpSessionEnded):
                    self._line.give_up(problem)
                log.warning("MCP server %s does not tell what has changed", self.spec.name, exc_info=True)
            await asyncio.sleep(_CALM_SECONDS)

    def _take(self, offers: Offers) -> None:
        tools, left_out = usable_tools(offers.tools, self.spec.policy, self.program)
        resources = usable_resources(offers.resources, offers.templates)
        prompts, fault = usable_prompts(offers.prompts), self.now.fault
        self._become(Snapshot("ready", "", tools, left_out, prompts, resources, fault=fault))

    def _note_change(self, _method: str) -> None:
        self._stale.set()

    def _pause(self, problem: BaseException, failures: int) -> float | None:
        """Seconds until it is tried again; None: not by itself."""
        limits = self._limits
        if isinstance(problem, McpSessionEnded) and failures == 1:
            return 0.0  # it is there
        if is_lasting(problem, self.spec, self._line.heard, was_there=bool(self.now.tools)):
            return None
        if self.spec.transport == "stdio" and failures >= limits.most_attempts:
            return None
        pause: float = limits.retry_seconds * 2 ** min(failures - 1, 20)
        return min(pause, limits.longest_pause)

    def _fail(self, problem: BaseException, pause: float | None) -> None:
        spec = self.spec
        reason = in_words(problem, spec, self._line.heard)
        retry = "" if pause is None else "It is tried again by itself."
        log.warning("MCP server %s failed: %s Seconds until the next try: %s", spec.name, reason, pause)
        log.debug("the failure of MCP server %s", spec.name, exc_info=problem)
        state: State = "connecting" if self._hurry.is_set() or pause == 0 else "failed"
        self._become(replace(self.now, state=state, error=reason, retry=retry))
        self._settled.set()

    async def _until_reason_is_known(self, line: Line) -> None:
        """Give the end of the connection time to be noticed, if it is one."""
        seconds = _REASON_SECONDS if line.over.is_set() else _NOTICE_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settled.wait()

    def _absence(self) -> str:
        match self.now.state:
            case "connecting" | "ready":
                return "It is still starting. Try again a little later."
            case "closed":
                return "Its session was closed."
            case _:
                return f"{self.now.error} {self.now.retry}".rstrip()

    def _told(self, problem: Exception) -> str:
        text = self.spec.hide(str(problem) or type(problem).__name__)
        return ended(text) if isinstance(problem, McpFailure) else f"What went wrong: {quoted(text)}"

    def _become(self, now: Snapshot) -> None:
        self.now = now
        self._on_change()
        self._changed.set()
        self._changed = asyncio.Event()


def _own_limits(spec: ServerSpec, limits: McpLimits) -> McpLimits:
    policy = spec.policy
    return replace(
        limits,
        call_seconds=policy.call_seconds or limits.call_seconds,
        connect_seconds=policy.connect_seconds or limits.connect_seconds,
    )


def _check(sent: object) -> None:
    """Look at what is to be sent: what cannot be written would end the connection, for all calls.

    Raises:
        McpCallFailed: JSON has no such text or number.
    """
    try:
        json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as problem:
        raise McpCallFailed(
            f"The call was not sent: its arguments cannot be written as JSON ({problem})."
        ) from problem
