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
from acp_adapter.commands import offered, typed_command
from acp_adapter.content import Block, to_content, to_said
from acp_adapter.errors import wire_error
from acp_adapter.handshake import (
    AUTH_METHOD,
    Greeting,
    SessionSeed,
    check_place,
    directory_name,
    initialize_result,
    open_session,
    session_choices,
    session_result,
)
from acp_adapter.jsonrpc import RequestId, RequestMeta
from acp_adapter.options import config_options, parse_mode, parse_option
from acp_adapter.replay import list_result, replay_params, updates_of
from acp_adapter.session import SessionState, Ticket
from acp_adapter.session_manager import Place, SessionManager
from acp_adapter.transport import Transport
from acp_adapter.turn import Prompt, TurnRunner
from agent_core.config import ConfigSource
from agent_core.errors import HermesError, RequestError, UnknownSession
from agent_core.events import ModeChanged, SessionEvent
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.sessions.records import SessionPage
from tools.approval.policy import Mode

log = logging.getLogger(__name__)

MAX_TURNS_AT_ONCE = 1024
"""Worker threads, made on demand: far more than sessions, so that turns waiting for an answer never delay others."""

_DELETE, _REWIND = "session/delete", "hermes/session/rewind"
_EXTENSIONS = frozenset({_DELETE, _REWIND})
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
        self._sessions.source = greeting.client_name
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
    async def initialize(
        self, client_capabilities: object = None, client_info: object = None, **_: object
    ) -> dict[str, Any]:
        """ACP `initialize`."""
        self._sessions.source = str(getattr(client_info, "name", ""))
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
    async def load_session(
        self, cwd: str, session_id: str, hermes_meta: RequestMeta = _NO_META, **more: Any
    ) -> dict[str, Any]:
        """ACP `session/load`: everything that happened is shown before the answer."""
        session = await self._sessions.restore(session_id, self._place(cwd, **more))
        try:
            await self._blocking(lambda: self._replay(session))
        except BaseException:
            self._sessions.begin(session)
            await self._sessions.close(session)
            raise
        self._start(session, hermes_meta, lambda: self._sessions.begin(session))
        return session_choices(session.mode)

    @_method
    async def resume_session(
        self, cwd: str, session_id: str, hermes_meta: RequestMeta = _NO_META, **more: Any
    ) -> dict[str, Any]:
        """ACP `session/resume`: as load, and nothing is shown again."""
        session = await self._sessions.restore(session_id, self._place(cwd, **more))
        session.outbox.put(offered())
        self._start(session, hermes_meta, lambda: self._sessions.begin(session))
        return session_choices(session.mode)

    @_method
    async def fork_session(
        self, cwd: str, session_id: str, hermes_meta: RequestMeta = _NO_META, **more: Any
    ) -> dict[str, Any]:
        """ACP `session/fork` (draft); `_meta.hermes.messageId` names the message that the fork ends with."""
        place = await self._place(cwd, **more)
        session = await self._sessions.fork(session_id, place, _fork_point(hermes_meta))
        session.outbox.put(offered())
        self._start(session, hermes_meta, session.outbox.release)
        return session_result(session.seed)

    @_method
    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: object) -> dict[str, Any]:
        """ACP `session/list`."""
        archive, mine = self._factory.sessions.archive, [session.id for session in self._sessions.all()]

        def page() -> SessionPage:
            place = None if cwd is None else directory_name("cwd", cwd)
            return archive.page(cwd=place, cursor=cursor, with_empty=mine)

        return list_result(await self._blocking(page))

    @_method
    async def prompt(
        self, session_id: str, prompt: list[Block], hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `session/prompt`: answered when the turn is over and everything it showed is written."""
        session = await self._sessions.reach(session_id)
        ticket = Ticket(hermes_meta.request_id, CancelToken())
        if self._transport.is_cancelled(ticket.request_id):
            ticket.token.cancel()
        runner = TurnRunner(self._factory, self._executor, self._capabilities)
        said = to_said(prompt)
        try:
            return {
                "stopReason": await runner.run(session, Prompt(to_content(prompt), said, typed_command(said)), ticket)
            }
        finally:
            self._sessions.rest(session)

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
        await self._set_mode(await self._sessions.reach(session_id), parse_mode(mode_id))
        return {}

    @_method
    async def set_config_option(self, config_id: str, session_id: str, value: object, **_: object) -> dict[str, Any]:
        """ACP `session/set_config_option`; the answer holds the complete list."""
        session = await self._sessions.reach(session_id)
        await self._set_mode(session, parse_option(config_id, value))
        return {"configOptions": config_options(session.mode)}

    @_method
    async def close_session(self, session_id: str, **_: object) -> dict[str, Any]:
        """ACP `session/close`: cancels what runs and frees everything."""
        await self._sessions.close(await self._sessions.reach(session_id))
        return {}

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Methods that the SDK does not route, and our own: their names come without the underscore."""
        if method not in _EXTENSIONS:
            raise AcpError.method_not_found(f"_{method}")
        return await self._extension(method=method, params=params)

    @_method
    async def _extension(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == _DELETE:
            await self._sessions.delete(_session_id(params))
            return {}
        from acp_adapter.rewinding import rewind_session  # noqa: PLC0415 - most people never undo

        session = await self._sessions.reach(_session_id(params))
        try:
            return await rewind_session(self._factory.sessions, session, params, self._blocking)
        finally:
            self._sessions.rest(session)

    def shut_down(self) -> None:
        """Cancel every turn and end every process; blocks, for the end of the process."""
        for session in self._sessions.all():
            session.cancel()
        self._factory.close()

    async def _open(self, seed: SessionSeed, *, held: bool) -> SessionState:
        session = await self._sessions.open(seed, held=held)
        session.outbox.put(offered())
        self._warm_once()
        self._sessions.rest(session)
        return session

    def _warm_once(self) -> None:
        if not self._warm:
            self._warm = True
            self._executor.submit(self._warm_up)

    def _warm_up(self) -> None:
        """Load on a worker thread, while the user types, what the first prompt needs."""
        self._factory.warm()
        # What is loaded now stays: the collector need not look through the libraries' objects again and again.
        gc.freeze()

    async def _place(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **_: object,
    ) -> Place:
        names = tuple(str(server.name) for server in mcp_servers or ())
        directory, roots = await self._blocking(lambda: check_place(cwd, additional_directories or ()))
        return Place(directory, roots, names)

    def _start(self, session: SessionState, meta: RequestMeta, begin: Callable[[], None]) -> None:
        """A session that was made live for a request begins to tell, once the request is answered."""
        self._warm_once()
        self._sessions.rest(session)
        self._transport.after_answer(meta.request_id, begin)

    def _replay(self, session: SessionState) -> None:
        library = self._factory.sessions
        transcript = library.archive.story(session.id)
        elsewhere = library.runs_elsewhere(transcript.session)
        updates = replay_params(transcript, session.mode, self._capabilities, runs_elsewhere=elsewhere)
        self._transport.pour("session/update", updates)

    async def _set_mode(self, session: SessionState, mode: Mode) -> None:
        if session.mode == mode:
            return
        session.workspace.approvals.mode = mode
        session.outbox.put(ModeChanged(mode))
        await self._blocking(lambda: self._factory.sessions.remember(session.id, mode=mode))

    async def _deliver(self, session_id: str, event: SessionEvent) -> None:
        for update in updates_of(event, self._capabilities):
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


def _session_id(params: dict[str, Any]) -> str:
    session_id = params.get("sessionId")
    if not isinstance(session_id, str):
        raise RequestError("sessionId must be the id of a session.")
    return session_id


def _fork_point(meta: RequestMeta) -> str | None:
    own = meta.meta.get("hermes")
    until = own.get("messageId") if isinstance(own, dict) else None
    if until is not None and not isinstance(until, str):
        raise RequestError("_meta.hermes.messageId must be the id of a message.")
    return until


async def serve(transport: Transport, config: ConfigSource, greeting: Greeting) -> None:
    """Run the agent on `transport` until the client is gone."""
    # What is loaded by now stays: the collector need not look through it when a long session is shown again.
    gc.freeze()
    transport.attach(asyncio.get_running_loop())
    agent = HermesACPAgent(transport, config, greeting)
    try:
        await agent.adopt()
        # The flag opens resume, close and fork, which the protocol has as stable and SDK 0.12 calls unstable.
        await run_agent(agent, transport, use_unstable_protocol=True)  # type: ignore[arg-type] # methods it lacks answer -32601
    finally:
        agent.shut_down()
