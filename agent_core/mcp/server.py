"""One server of a session: its conversation over an open transport, its task on the service loop, its state.

A server that goes away is connected again by itself, after pauses that grow while it does not stay. Meanwhile its
tools are still named, so that the model's list stays as it is, and calls say what happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.mcp.connection import CLOSED, Line, Surroundings, connected, ended, in_words, is_lasting, quoted
from agent_core.mcp.oauth import signs_in
from agent_core.mcp.offers import Snapshot, usable_prompts, usable_resources, usable_tools
from agent_core.mcp.server_requests import Events, Inbound, RunningCall
from agent_core.mcp.specs import (
    McpCallFailed,
    McpFailure,
    McpLimits,
    McpServerFault,
    McpSessionEnded,
    ServerPolicy,
    ServerSpec,
    State,
)
from tools.light_dataclass import dataclass
from tools.untrusted.invisible import without_controls

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.shared.exceptions import MCPError
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher


# The conversation: it is greeted, asked what it offers, and its tools are called.

log = logging.getLogger(__name__)

_MOST_PAGES = 50
_MOST_EXTRAS = 1_000
_MOST_ROUNDS = 10
_ROUND_SECONDS = 0.1
_LONGEST_NOTE = 300
_UNREAD = "Failed to parse "  # the SDK's words for an answer that is no message
_LISTS = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}

OnProgress = Callable[[str], None]
Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Offers:
    """What a server offers, as JSON."""

    tools: list[Entry]
    prompts: list[Entry]
    resources: list[Entry]
    templates: list[Entry]


class Peer:
    """One server that was greeted. Used on the service loop.

    Answers are taken as JSON: an odd tool or content block then costs no more than itself.
    """

    def __init__(self, session: ClientSession, dispatcher: JSONRPCDispatcher[Any]) -> None:
        self._session = session
        self._dispatcher = dispatcher

    async def greet(self) -> None:
        """Agree on a version of the protocol.

        Raises:
            Exception: what the SDK raises when they cannot.
        """
        from mcp import MCPError  # noqa: PLC0415
        from mcp_types import UNSUPPORTED_PROTOCOL_VERSION  # noqa: PLC0415

        try:
            await self._session.initialize()
        except MCPError as problem:
            if problem.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # One that speaks only the protocol without a handshake.
            await self._session.discover()

    async def offers(self, most: int, policy: ServerPolicy, seconds: float) -> Offers:
        """What it offers, each list as JSON. Only its tools have to come.

        Args:
            most: tools.
            seconds: that the other lists may take.

        Raises:
            Exception: what the SDK raises.
        """
        can = self._session.server_capabilities
        extras = []
        if policy.prompts and can is not None and can.prompts is not None:
            extras.append("prompts")
        if policy.resources and can is not None and can.resources is not None:
            extras += ["resources", "resourceTemplates"]
        waiting = [asyncio.create_task(self._extra(kind, seconds)) for kind in extras]
        try:
            tools = await self.tools(most)
            found = dict(zip(extras, await asyncio.gather(*waiting), strict=True))
        finally:
            for task in waiting:
                task.cancel()
        return Offers(tools, found.get("prompts", []), found.get("resources", []), found.get("resourceTemplates", []))

    async def tools(self, most: int) -> list[Entry]:
        """The tools that it offers, as JSON, at most so many.

        Raises:
            Exception: what the SDK raises.
        """
        capabilities = self._session.server_capabilities
        if capabilities is not None and capabilities.tools is None:
            return []
        return (await self._listed("tools", most))[:most]

    async def listen(self, changed: Callable[[str], None]) -> None:
        """Hear of changed lists, from a server that tells only those who listen; returns when it is over."""
        if self._session.initialize_result is not None:
            return
        from mcp.client.subscriptions import listen  # noqa: PLC0415

        names = {"ToolsListChanged": "tools", "PromptsListChanged": "prompts", "ResourcesListChanged": "resources"}
        try:
            async with listen(
                self._session, tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as subscription:
                async for event in subscription:
                    if (name := names.get(type(event).__name__)) is not None:
                        changed(f"notifications/{name}/list_changed")
        except Exception:  # it goes on without, whatever the server made of it
            log.debug("a server does not tell of its changes", exc_info=True)

    async def call(self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress) -> Entry:
        """Call a tool; cancelling this sends the server a cancellation.

        Returns:
            the `CallToolResult` as JSON.

        Raises:
            McpCallFailed: it refused. McpFailure: the connection is over.
        """

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            on_progress(_note(progress, total, message))

        if self._session.initialize_result is not None:
            params = {"name": tool, "arguments": dict(arguments)}
            return await self._asked("tools/call", params, {"on_progress": progressed})

        async def ask(responses: Any, state: str | None) -> Any:
            return await self._session.call_tool(
                tool,
                dict(arguments),
                progress_callback=progressed,
                input_responses=responses,
                request_state=state,
                allow_input_required=True,
            )

        return await self._in_rounds(ask)

    async def read(self, uri: str) -> Entry:
        """The contents of a resource: a `ReadResourceResult` as JSON.

        Raises:
            McpCallFailed, McpFailure: as `call` does.
        """
        if self._session.initialize_result is not None:
            return await self._asked("resources/read", {"uri": uri})
        return await self._in_rounds(
            lambda responses, state: self._session.read_resource(
                uri, input_responses=responses, request_state=state, allow_input_required=True
            )
        )

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Entry:
        """The words of a prompt: a `GetPromptResult` as JSON.

        Raises:
            McpCallFailed, McpFailure: as `call` does.
        """
        if self._session.initialize_result is not None:
            return await self._asked("prompts/get", {"name": name, "arguments": dict(arguments)})
        return await self._in_rounds(
            lambda responses, state: self._session.get_prompt(
                name, dict(arguments), input_responses=responses, request_state=state, allow_input_required=True
            )
        )

    @property
    def answers_pings(self) -> bool:
        """Whether its protocol knows them: the one without a handshake does not."""
        return self._session.initialize_result is not None

    async def ping(self) -> None:
        """Ask for a sign of life.

        Raises:
            McpCallFailed: it refused, so it lives. McpFailure: the connection is over.
        """
        await self._asked("ping", {})

    async def _asked(self, method: str, params: Entry, options: Any = None) -> Entry:
        from mcp import MCPError  # noqa: PLC0415

        try:
            return await self._dispatcher.send_raw_request(method, params, options)
        except MCPError as problem:
            raise _call_failure(problem) from problem

    async def _in_rounds(self, ask: Callable[[Any, str | None], Awaitable[Any]]) -> Entry:
        """Ask a server of the protocol without a handshake, which answers with its own questions first."""
        from mcp import MCPError  # noqa: PLC0415
        from mcp.client.session import ClientRequestContext  # noqa: PLC0415
        from mcp_types import ErrorData, InputRequiredResult  # noqa: PLC0415

        responses: dict[str, Any] | None = None
        state: str | None = None
        try:
            for round_number in range(_MOST_ROUNDS):
                result = await ask(responses, state)
                if not isinstance(result, InputRequiredResult):
                    told: Entry = result.model_dump(by_alias=True, mode="json", exclude_none=True)
                    return told
                responses, state = {}, result.request_state
                for key, request in (result.input_requests or {}).items():
                    context = ClientRequestContext(session=self._session, request_id=f"{key}-{round_number}")
                    answer = await self._session.dispatch_input_request(context, request)
                    if isinstance(answer, ErrorData):
                        raise McpCallFailed(f"It asked for something that it did not get: {answer.message}")
                    responses[key] = answer
                if not responses:
                    await asyncio.sleep(_ROUND_SECONDS)
        except MCPError as problem:
            raise _call_failure(problem) from problem
        raise McpCallFailed("It asked again and again, and never answered.")

    async def _extra(self, kind: str, seconds: float) -> list[Entry]:
        try:
            async with asyncio.timeout(seconds):
                return await self._listed(kind, _MOST_EXTRAS)
        except Exception:  # its tools are of use without
            log.info("a server does not tell its %s", kind, exc_info=True)
            return []

    async def _listed(self, kind: str, most: int) -> list[Entry]:
        entries: list[Entry] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(kind, cursor)
            found = page.get(kind)
            entries += [entry for entry in found if isinstance(entry, Mapping)] if isinstance(found, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor or len(entries) >= most:
                break
            cursor = following
        return entries

    async def _page(self, kind: str, cursor: str | None) -> Entry:
        from mcp_types import PaginatedRequestParams  # noqa: PLC0415

        if self._session.initialize_result is not None:
            params = {} if cursor is None else {"cursor": cursor}
            return await self._dispatcher.send_raw_request(_LISTS[kind], params)
        lists = {
            "tools": self._session.list_tools,
            "prompts": self._session.list_prompts,
            "resources": self._session.list_resources,
            "resourceTemplates": self._session.list_resource_templates,
        }
        listed = await lists[kind](params=PaginatedRequestParams(cursor=cursor))
        page: Entry = listed.model_dump(by_alias=True, mode="json", exclude_none=True)
        return page


@asynccontextmanager
async def speaking(incoming: Any, outgoing: Any, inbound: Inbound) -> AsyncIterator[Peer]:
    """A peer over the two streams of a transport, not yet greeted; `inbound` answers what it wants of us."""
    from mcp import ClientSession  # noqa: PLC0415
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher  # noqa: PLC0415
    from mcp_types import Implementation  # noqa: PLC0415

    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(incoming, outgoing)
    me = Implementation(name="hermes-acp", version=_version())
    async with ClientSession(
        dispatcher=dispatcher,
        client_info=me,
        message_handler=inbound.on_message,
        elicitation_callback=inbound.on_elicit if inbound.asks else None,
        sampling_callback=inbound.on_sample if inbound.samples else None,
        list_roots_callback=inbound.on_roots,
    ) as session:
        yield Peer(session, dispatcher)


def _call_failure(problem: MCPError) -> McpFailure:
    from mcp_types import CONNECTION_CLOSED, PARSE_ERROR  # noqa: PLC0415

    if isinstance(problem.data, McpFailure):
        return problem.data
    if problem.code == CONNECTION_CLOSED:
        return McpFailure(CLOSED)
    if problem.code == PARSE_ERROR and problem.message.startswith(_UNREAD):
        return McpServerFault(
            "Its answer could not be read: it is no message of MCP. That is an error of the server's."
        )
    return McpCallFailed(f"It refused the call (code {problem.code}).", problem.message)


def _note(progress: float, total: float | None, message: str | None) -> str:
    count = f"{progress:g}" if not total else f"{progress:g}/{total:g}"
    return f"{without_controls(message)[:_LONGEST_NOTE]} ({count})\n" if message else f"{count}\n"


def _version() -> str:
    try:
        return importlib.metadata.version("hermes-editor-agent")
    except importlib.metadata.PackageNotFoundError:
        return "0"


# Signs of life of a server of the network: nobody tells of its end while nothing is asked.


async def keep_alive(
    peer: Peer, every: float, patience: float, is_busy: Callable[[], bool], give_up: Callable[[McpFailure], None]
) -> None:
    """Ask `peer` for a sign of life again and again; returns once there is no more use in that.

    Args:
        every: seconds between two questions; 0: none is asked.
        patience: seconds for an answer.
        is_busy: a call runs, so that nothing need be asked, and the answer might have to wait.
        give_up: is told that it is not there.
    """
    while every and peer.answers_pings:
        await asyncio.sleep(every)
        if is_busy():
            continue
        try:
            async with asyncio.timeout(patience):
                await peer.ping()
        except McpServerFault:
            log.info("a server answers no ping now", exc_info=True)
        except McpCallFailed:
            log.debug("a server knows no pings", exc_info=True)
            return
        except TimeoutError:
            if not is_busy():
                give_up(McpFailure(f"It gave no sign of life for {patience:g} s."))
                return
        except Exception as problem:  # noqa: BLE001 - whatever it is, the server is not there
            give_up(problem if isinstance(problem, McpFailure) else McpFailure(CLOSED))
            return


# Its task on the service loop.

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
        self._renews = False  # its session was lost, and another one is begun at once
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
        if self._renews or isinstance(self._line.failure, McpSessionEnded):
            peer = await self._successor(peer)  # the session is known to be lost: nothing is asked in it
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

    async def _successor(self, gone: Peer | None) -> Peer | None:
        """The server in the session that follows; None where there is none."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.connect_seconds):
                while self.now.state == "connecting" or (gone is not None and self._peer is gone):
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
            self._renews = pause == 0
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
            self._peer, self._renews = peer, False
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
