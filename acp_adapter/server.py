"""`HermesACPAgent`: the ACP methods, one short function each. The work is done by the modules they call."""

from __future__ import annotations

import asyncio
import functools
import gc
import logging
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from acp import RequestError as AcpError
from acp import run_agent
from acp.interfaces import Client
from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallUpdate

from acp_adapter.capabilities import read_capabilities
from acp_adapter.content import Block, to_content
from acp_adapter.errors import wire_error
from acp_adapter.handshake import AUTH_METHOD, Greeting, SessionSeed, initialize_result, open_session, session_result
from acp_adapter.jsonrpc import RequestId, RequestMeta
from acp_adapter.options import config_options, parse_mode, parse_option
from acp_adapter.projection import bare, project
from acp_adapter.session import SessionManager, SessionState, Ticket
from acp_adapter.transport import Transport
from acp_adapter.turn import TurnRunner
from agent_core.config import ConfigSource
from agent_core.errors import HermesError, RequestError, UnknownSession
from agent_core.events import ModeChanged, SessionEvent
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from tools.approval.policy import Mode

log = logging.getLogger(__name__)

MAX_TURNS_AT_ONCE = 1024
"""Worker threads, made on demand: far more than sessions, so that turns waiting for an answer never delay others."""

_NO_META = RequestMeta()

_T = TypeVar("_T")


def _method(function: Callable[..., Awaitable[_T]]) -> Callable[..., Coroutine[Any, Any, _T]]:
    """An ACP method: every failure becomes one JSON-RPC error with a text for people."""

    @functools.wraps(function)
    async def method(self: HermesACPAgent, **params: Any) -> _T:
        try:
            return await function(self, **params)
        except Exception as problem:
            if not isinstance(problem, HermesError):
                log.exception("%s failed", function.__name__)
            error = wire_error(problem)
            raise AcpError(error["code"], error["message"], error["data"]) from problem

    return method


class HermesACPAgent:
    """The agent side of one ACP connection."""

    def __init__(self, transport: Transport, config: ConfigSource, greeting: Greeting) -> None:
        """Take over from the front door: what it has answered is not asked again."""
        self._transport = transport
        self._config = config
        self._greeting = greeting
        self._client: Client | None = None
        self._executor = ThreadPoolExecutor(MAX_TURNS_AT_ONCE, thread_name_prefix="turn")
        self._factory = AgentFactory(config)
        self._sessions = SessionManager(self._factory, self._deliver, self._ask, self._blocking)
        self._capabilities = read_capabilities(greeting.client_capabilities)
        self._input_ended = False
        self._warm = False
        self._questions: set[asyncio.Future[RequestPermissionResponse]] = set()
        transport.on_cancel_request = self._cancel_request
        transport.on_end = self._on_end

    def on_connect(self, conn: Client) -> None:
        """The SDK's connection is there."""
        self._client = conn

    async def adopt(self) -> None:
        """Make a real session of the one that the front door opened, before anything else is received."""
        if self._greeting.seed is None:
            return
        try:
            await self._open(self._greeting.seed, held=False)
        except HermesError:
            # The settings were good a moment ago. The first prompt is told that the session is not there.
            log.exception("the first session could not be opened")

    @_method
    async def initialize(self, client_capabilities: object = None, **_: object) -> dict[str, Any]:
        """ACP `initialize`."""
        dump = getattr(client_capabilities, "model_dump", None)
        self._capabilities = read_capabilities(dump(by_alias=True) if dump else client_capabilities)
        return initialize_result()

    @_method
    async def authenticate(self, method_id: str, **_: object) -> dict[str, Any]:
        """ACP `authenticate`: succeeds when a usable model is configured."""
        if method_id != AUTH_METHOD:
            raise RequestError(f"There is no authentication method {method_id!r}. The only one is {AUTH_METHOD!r}.")
        await self._blocking(self._factory.check_model)
        return {}

    @_method
    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        hermes_meta: RequestMeta = _NO_META,
        **_: object,
    ) -> dict[str, Any]:
        """ACP `session/new`."""
        names = [str(server.name) for server in mcp_servers or ()]
        seed = await self._blocking(
            lambda: open_session(cwd, additional_directories or (), names, self._config.load())
        )
        session = await self._open(seed, held=True)
        self._transport.after_answer(hermes_meta.request_id, session.outbox.release)
        return session_result(seed)

    @_method
    async def prompt(
        self, session_id: str, prompt: list[Block], hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `session/prompt`: answered when the turn is over and everything it showed is written."""
        session = self._sessions.get(session_id)
        ticket = Ticket(hermes_meta.request_id, CancelToken())
        if self._transport.is_cancelled(ticket.request_id):
            ticket.token.cancel()
        runner = TurnRunner(self._factory, self._executor, self._capabilities)
        return {"stopReason": await runner.run(session, to_content(prompt), ticket)}

    @_method
    async def cancel(self, session_id: str, **_: object) -> None:
        """ACP `session/cancel`: everything prompted so far in this session ends as cancelled."""
        try:
            self._sessions.get(session_id).cancel()
        except UnknownSession:
            log.info("a cancel for a session that is not there was ignored")

    @_method
    async def set_session_mode(self, mode_id: str, session_id: str, **_: object) -> dict[str, Any]:
        """ACP `session/set_mode`."""
        self._set_mode(self._sessions.get(session_id), parse_mode(mode_id))
        return {}

    @_method
    async def set_config_option(self, config_id: str, session_id: str, value: object, **_: object) -> dict[str, Any]:
        """ACP `session/set_config_option`; the answer holds the complete list."""
        session = self._sessions.get(session_id)
        self._set_mode(session, parse_option(config_id, value))
        return {"configOptions": config_options(session.mode)}

    @_method
    async def close_session(self, session_id: str, **_: object) -> dict[str, Any]:
        """ACP `session/close`: cancels what runs and frees everything."""
        await self._sessions.close(self._sessions.get(session_id))
        return {}

    def shut_down(self) -> None:
        """Cancel every turn and end every process; blocks, for the end of the process."""
        for session in self._sessions.all():
            session.cancel()
        self._factory.close()

    async def _open(self, seed: SessionSeed, *, held: bool) -> SessionState:
        session = await self._sessions.open(seed, held=held)
        if not self._warm:
            self._warm = True
            self._executor.submit(self._warm_up)
        return session

    def _warm_up(self) -> None:
        """Load on a worker thread, while the user types, what the first prompt needs."""
        self._factory.warm()
        # What is loaded now stays: the collector need not look through the libraries' objects again and again.
        gc.freeze()

    def _set_mode(self, session: SessionState, mode: Mode) -> None:
        if session.mode != mode:
            session.workspace.approvals.mode = mode
            session.outbox.put(ModeChanged(mode))

    async def _deliver(self, session_id: str, event: SessionEvent) -> None:
        try:
            updates = project(event, self._capabilities)
        except Exception:
            # A card must still begin and end, whatever is wrong with what it should show.
            log.exception("an event could not be shown as it should")
            updates = bare(event)
        for update in updates:
            await self._transport.notify("session/update", {"sessionId": session_id, "update": update})

    async def _ask(self, question: dict[str, Any]) -> str | None:
        if self._client is None or self._input_ended:
            return None
        request = self._client.request_permission(
            session_id=question["sessionId"],
            tool_call=ToolCallUpdate.model_validate(question["toolCall"]),
            options=[PermissionOption.model_validate(option) for option in question["options"]],
        )
        asking = asyncio.ensure_future(request)
        self._questions.add(asking)
        try:
            answer = await asking
        finally:
            self._questions.discard(asking)
        return answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else None

    def _cancel_request(self, request_id: RequestId) -> None:
        for session in self._sessions.all():
            for ticket in session.tickets:
                if ticket.request_id == request_id:
                    ticket.token.cancel()

    def _on_end(self) -> None:
        """Nobody can answer any more: open questions end, which means no."""
        self._input_ended = True
        for question in self._questions:
            question.cancel()

    async def _blocking(self, function: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function)


async def serve(transport: Transport, config: ConfigSource, greeting: Greeting) -> None:
    """Run the agent on `transport` until the client is gone."""
    transport.attach(asyncio.get_running_loop())
    agent = HermesACPAgent(transport, config, greeting)
    try:
        await agent.adopt()
        # The flag opens resume, close and fork, which the protocol has as stable and SDK 0.12 calls unstable.
        await run_agent(agent, transport, use_unstable_protocol=True)  # type: ignore[arg-type] # methods it lacks answer -32601
    finally:
        agent.shut_down()
