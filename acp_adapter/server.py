"""`HermesACPAgent`: the ACP methods, one short function each. The work is done by the modules they call."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from acp_adapter.auth import check_method
from acp_adapter.capabilities import client_name, read_capabilities
from acp_adapter.commands.run import refresh_offer
from acp_adapter.content import Block, to_said
from acp_adapter.jsonrpc import RequestMeta, logged_error
from acp_adapter.option_changes import Chooser
from acp_adapter.options import option_list
from acp_adapter.preload import AheadOfSdk, Warming
from acp_adapter.projection import list_result, replay_params
from acp_adapter.session import Place, SessionManager, SessionState, Ticket
from acp_adapter.startup import (
    Greeting,
    SessionSeed,
    check_place,
    directory_name,
    initialize_result,
    looked_again,
    open_session,
    servers_of,
    session_choices,
    session_result,
)
from acp_adapter.transport import Transport
from acp_adapter.turn import Prompting
from acp_adapter.workers import Workers
from agent_core.activity import Doing
from agent_core.background_tasks import TaskInfo
from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource
from agent_core.errors import HermesError, RequestError
from agent_core.factory import AgentFactory
from agent_core.settings.options import Option

if TYPE_CHECKING:
    from acp_adapter.sdk import Client


# Methods beside the SDK's: those of the protocol that it does not route, the community's, and our own.

Params = Mapping[str, Any]
Json = dict[str, Any]
_T = TypeVar("_T")
Submit = Callable[[str, str], Awaitable[None]]

DELETE, LOGOUT = "session/delete", "logout"
STEERING, REWIND = "session/steering", "hermes/session/rewind"
ACTIVITY, TASKS = "hermes/session/activity", "hermes/session/tasks"


class Extensions:
    """The methods by name, without the underscore that those outside the protocol have on the wire."""

    def __init__(self, factory: AgentFactory, sessions: SessionManager, workers: Workers, submit: Submit) -> None:
        """Make it.

        Args:
            submit: begins a turn of a session (by id) with a text, which nobody waits for.
        """
        self._factory = factory
        self._sessions = sessions
        self._workers = workers
        self._submit = submit
        self.methods: Mapping[str, Callable[[Params], Awaitable[Json]]] = {
            DELETE: self._delete,
            LOGOUT: self._logout,
            STEERING: self._steer,
            REWIND: self._rewind,
            ACTIVITY: self._activity,
            TASKS: self._tasks,
        }

    async def _delete(self, params: Params) -> Json:
        """ACP `session/delete`."""
        await self._sessions.delete(_session_id(params))
        return {}

    async def _logout(self, params: Params) -> Json:  # noqa: ARG002 - every method has the same form
        """ACP `logout`: sessions that are open go on, no other one is opened."""
        await self._workers.run(self._factory.sign_out)
        return {}

    async def _rewind(self, params: Params) -> Json:
        from acp_adapter.commands.undo import rewind_session  # noqa: PLC0415 - most people never undo

        session = await self._sessions.reach(_session_id(params))
        try:
            library, notes = self._factory.sessions, self._factory.memory_files
            return await rewind_session(
                library,
                session,
                params,
                self._workers.run,
                notes,
                turn=session.turn,
                is_prompted=bool(session.tickets),
            )
        finally:
            self._sessions.rest(session)

    async def _activity(self, params: Params) -> Json:
        """`_hermes/session/activity`: what the session's agent is doing, and since when (seconds since the epoch).

        Returns:
            activity (idle, waiting_for_model, receiving, running, asking, compressing), detail, since, turnSince.
        """
        session = await self._sessions.reach(_session_id(params))
        try:
            doing = Doing() if session.services is None else session.services.activity.now()
        finally:
            self._sessions.rest(session)
        times = {"since": doing.since, "turnSince": doing.turn_since}
        return {"activity": doing.kind, "detail": doing.detail, **{name: at for name, at in times.items() if at}}

    async def _tasks(self, params: Params) -> Json:
        """`_hermes/session/tasks`: what was begun in the background of the session, oldest first.

        With `action` (stop, pause, resume) and `taskId` that is done before.

        Returns:
            tasks: each with id, kind (process, delegation, hook), title, state (running, paused, done, failed,
            stopped, lost), detail, tells (its end is news), startedAt and endedAt (seconds since the epoch, null for
            none); waiting: how many news no turn has told the model of yet.
        """
        from acp_adapter.commands.info import control_task, news_waiting, session_tasks  # noqa: PLC0415 - few ask
        from agent_core.background_tasks import VERBS  # noqa: PLC0415

        session = await self._sessions.reach(_session_id(params))
        action, task_id = params.get("action"), params.get("taskId")
        known = isinstance(action, str) and action in VERBS and isinstance(task_id, str)
        if action is not None and not known:
            raise RequestError(f"action must be one of {', '.join(sorted(VERBS))}, with the taskId of a task.")

        def told() -> Json:
            if action is not None:
                control_task(self._factory, session, str(action), str(task_id))
            tasks = session_tasks(self._factory, session)
            return {"tasks": [task_json(task) for task in tasks], "waiting": news_waiting(self._factory, session)}

        try:
            return await self._workers.run(told)
        finally:
            self._sessions.rest(session)

    async def _steer(self, params: Params) -> Json:
        """`_session/steering`, in the form that other agents gave it: words for the turn that runs.

        Returns:
            outcome: injected; promptRequired where no turn runs and the client asks to be told so; else
            startedNewTurn.
        """
        session = await self._sessions.reach(_session_id(params))
        text = _text_of(params.get("prompt"))
        if session.steer(text):
            return {"outcome": "injected"}
        if _wants_to_prompt(params):
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        await self._submit(session.id, text)
        return {"outcome": "startedNewTurn"}


def task_json(task: TaskInfo) -> Json:
    """A task as `_hermes/session/tasks` tells it."""
    return {
        "id": task.id,
        "kind": task.kind,
        "title": task.title,
        "state": task.state,
        "detail": task.detail,
        "tells": task.tells,
        "startedAt": task.started_at,
        "endedAt": task.ended_at,
    }


def _session_id(params: Params) -> str:
    session_id = params.get("sessionId")
    if not isinstance(session_id, str):
        raise RequestError("sessionId must be the id of a session.")
    return session_id


def _text_of(prompt: object) -> str:
    blocks = prompt if isinstance(prompt, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    if not blocks or len(texts) != len(blocks) or not all(isinstance(text, str) for text in texts):
        raise RequestError("prompt must be a list of text blocks: only words can be given to a running turn.")
    text = "\n\n".join(map(str, texts)).strip()
    if not text:
        raise RequestError("The prompt is empty. Send at least one text block with something in it.")
    return text


def _wants_to_prompt(params: Params) -> bool:
    meta = params.get("_meta")
    steering = meta.get("steering") if isinstance(meta, dict) else None
    return isinstance(steering, dict) and steering.get("idleBehavior") == "promptRequired"


log = logging.getLogger(__name__)

MAX_TURNS_AT_ONCE = 1024
"""Threads for turns: far more than sessions, so that turns waiting for an answer never delay others."""

MAX_REQUESTS_AT_ONCE = 32
"""Threads for all else that requests need; none of it waits for a person."""

_NO_META = RequestMeta()


def _method(function: Callable[..., Awaitable[_T]]) -> Callable[..., Coroutine[Any, Any, _T]]:
    """An ACP method: every failure becomes one JSON-RPC error with a text for people."""

    @functools.wraps(function)
    async def method(self: HermesACPAgent, **params: Any) -> _T:
        try:
            return await function(self, **params)
        except Exception as problem:
            from acp_adapter.sdk import AcpError  # noqa: PLC0415 - it has called, so it is loaded

            error = logged_error(problem, function.__name__)
            raise AcpError(error["code"], error["message"], error["data"]) from problem

    return method


def load_sdk() -> None:
    """Load the protocol's SDK."""
    import acp_adapter.sdk  # noqa: F401, PLC0415 - behind the first prompt


class HermesACPAgent:
    """The agent side of one ACP connection."""

    def __init__(
        self,
        transport: Transport,
        config: ConfigSource,
        greeting: Greeting,
        on_loaded: Callable[[], None] = lambda: None,
        load_sdk: Callable[[], None] = load_sdk,
    ) -> None:
        """Take over from the front door: what it has answered is not asked again."""
        self._transport = transport
        self._config = config
        self._greeting = greeting
        self._turns = Workers(MAX_TURNS_AT_ONCE, "turn")
        self._requests = Workers(MAX_REQUESTS_AT_ONCE, "request")
        self._factory = AgentFactory(config)
        self._sessions = SessionManager(self._factory, transport, self._requests)
        self._sessions.source, self._sessions.client = greeting.client_name, greeting.client
        self._chooser = Chooser(self._factory, config, self._sessions, self._requests)
        self._prompting = Prompting(
            self._factory,
            self._turns,
            self._sessions,
            self._chooser,
            is_cancelled=transport.requests.is_cancelled,
        )
        self._extensions = Extensions(self._factory, self._sessions, self._requests, self._prompting.submit)
        self._warming = Warming(self._factory, self._turns, self._is_prompted, on_loaded, self._look_again)
        first = None if greeting.seed is None else greeting.seed.session_id
        self.ahead = AheadOfSdk(transport, self._prompting, first, load=load_sdk, run=self._requests.run)
        transport.on_cancel_request = self._prompting.cancel_request

    def on_connect(self, conn: Client) -> None:
        """The SDK's connection is there. Requests of ours go by the transport itself."""

    async def adopt(self) -> None:
        """Make a real session of the one that the front door opened, before anything else is received."""
        if (seed := self._greeting.seed) is None:
            return
        try:
            await self._open(lambda: seed, held=False)
        except HermesError:
            # The settings were good a moment ago. The first prompt is told that the session is not there.
            log.exception("the first session could not be opened")

    @_method
    async def initialize(
        self, client_info: object = None, hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `initialize`."""
        self._sessions.source = client_name(client_info)
        self._sessions.client = read_capabilities(hermes_meta.capabilities, client_info)
        return initialize_result(self._sessions.client)

    @_method
    async def authenticate(self, method_id: str, **_: object) -> dict[str, Any]:
        """ACP `authenticate`: succeeds when a usable model is configured; takes back a `logout`."""
        check_method(method_id)
        await self._requests.run(self._factory.sign_in)
        return {}

    @_method
    async def new_session(self, cwd: str, hermes_meta: RequestMeta = _NO_META, **_: object) -> dict[str, Any]:
        """ACP `session/new`."""
        directories, servers = _listed(hermes_meta.directories), _listed(hermes_meta.servers)
        options: tuple[Option, ...] = ()

        def sow() -> SessionSeed:
            nonlocal options
            seed = open_session(cwd, directories, servers, self._config.load())
            options = self._chooser.offered_first(seed.choices)
            return seed

        session = await self._open(sow, held=True)
        self._start(session, hermes_meta, session.outbox.release)
        return session_result(session.id, options, self._sessions.client)

    @_method
    async def load_session(
        self, cwd: str, session_id: str, hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `session/load`: everything that happened is shown before the answer."""
        session = await self._sessions.restore(session_id, self._place(cwd, hermes_meta))
        try:
            await self._requests.run(lambda: self._replay(session))
        except BaseException:
            await self._sessions.give_up(session)
            raise
        self._start(session, hermes_meta, lambda: self._sessions.begin(session))
        return session_choices(await self._chooser.options(session), self._sessions.client)

    @_method
    async def resume_session(
        self, cwd: str, session_id: str, hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `session/resume`: as load, and nothing is shown again."""
        session = await self._sessions.restore(session_id, self._place(cwd, hermes_meta))
        session.outbox.put(session.shelf.offer())
        self._start(session, hermes_meta, lambda: self._sessions.begin(session))
        return session_choices(await self._chooser.options(session), self._sessions.client)

    @_method
    async def fork_session(
        self, cwd: str, session_id: str, hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `session/fork` (draft); `_meta.hermes.messageId` names the message that the fork ends with."""
        place = await self._place(cwd, hermes_meta)
        session = await self._sessions.fork(session_id, place, _fork_point(hermes_meta))
        session.outbox.put(session.shelf.offer())
        self._start(session, hermes_meta, session.outbox.release)
        return session_result(session.id, await self._chooser.options(session), self._sessions.client)

    @_method
    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: object) -> dict[str, Any]:
        """ACP `session/list`."""
        archive, mine = self._factory.sessions.archive, [session.id for session in self._sessions.all()]

        def listed() -> dict[str, Any]:
            place = None if cwd is None else directory_name("cwd", cwd)
            return list_result(archive.page(cwd=place, cursor=cursor, with_empty=mine), place)

        return await self._requests.run(listed)

    @_method
    async def prompt(
        self, session_id: str, prompt: list[Block], hermes_meta: RequestMeta = _NO_META, **_: object
    ) -> dict[str, Any]:
        """ACP `session/prompt`: answered when the turn is over and everything it showed is written."""
        answered = await self._prompting.answer(
            session_id, to_said(prompt), Ticket(hermes_meta.request_id, CancelToken())
        )
        return answered.result()

    @_method
    async def cancel(self, session_id: str, **_: object) -> None:
        """ACP `session/cancel`: everything prompted so far in this session ends as cancelled."""
        await self._prompting.cancel(session_id)

    @_method
    async def set_session_mode(self, mode_id: str, session_id: str, **_: object) -> dict[str, Any]:
        """ACP `session/set_mode`."""
        await self._chooser.set_mode(await self._sessions.reach(session_id), mode_id)
        return {}

    @_method
    async def set_config_option(self, config_id: str, session_id: str, value: object, **_: object) -> dict[str, Any]:
        """ACP `session/set_config_option`; the answer holds the complete list."""
        session = await self._sessions.reach(session_id)
        options = await self._chooser.choose(session, config_id, value, announced=False)
        return {"configOptions": option_list(options, self._sessions.client)}

    @_method
    async def close_session(self, session_id: str, **_: object) -> dict[str, Any]:
        """ACP `session/close`: cancels what runs and frees everything."""
        await self._sessions.close_named(session_id)
        return {}

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Methods that the SDK does not route, and our own: their names come without the underscore."""
        if method not in self._extensions.methods:
            from acp_adapter.sdk import AcpError  # noqa: PLC0415 - as above

            raise AcpError.method_not_found(f"_{method}")
        return await self._extension(method=method, params=params)

    @_method
    async def _extension(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._extensions.methods[method](params)

    def shut_down(self) -> None:
        """Cancel every turn and end every process; blocks, for the end of the process."""
        for session in self._sessions.all():
            session.cancel()
        self._factory.sessions.store.put_down()  # before what may hang, or be killed
        self._chooser.close()
        self._factory.close()
        self._turns.rest()
        self._requests.rest()

    def store_rest(self) -> str:
        """Store what is left of the sessions; what the person is told of what could not be, '' if all was. Blocks."""
        return self._factory.sessions.store.close().told

    async def _open(self, sow: Callable[[], SessionSeed], *, held: bool) -> SessionState:
        session = await self._sessions.open(sow, held=held)
        session.outbox.put(session.shelf.offer())
        self._warm_once(session)
        self._sessions.rest(session)
        if not held:
            self._requests.submit(refresh_offer, session.shelf, session.outbox)
            if session.servers is not None:
                session.servers.start()
        return session

    def _warm_once(self, session: SessionState) -> None:
        self._warming.begin(for_stored=not session.is_new)
        self._chooser.renew_when_quiet()

    def _is_prompted(self) -> bool:
        return any(session.tickets for session in self._sessions.all())

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        """The first session was answered before the settings were there: what it was told may not be so any more."""
        seed = self._greeting.seed
        try:
            if seed is None or not looked_again(self._greeting, self._config.load()):
                return
            session = self._sessions.get(seed.session_id)
        except HermesError:
            log.info("the first session's options could not be looked at again", exc_info=True)
        except Exception:
            log.exception("the first session's options could not be looked at again")
        else:
            self._chooser.show_from(loop, session)

    async def _place(self, cwd: str, meta: RequestMeta) -> Place:
        servers = servers_of(_listed(meta.servers))

        def look() -> Place:
            self._factory.signed_out.check()
            return Place(check_place(cwd, _listed(meta.directories)), servers)

        return await self._requests.run(look)

    def _start(self, session: SessionState, meta: RequestMeta, begin: Callable[[], None]) -> None:
        """A session that was made live for a request begins to tell, once the request is answered."""
        self._warm_once(session)
        self._sessions.rest(session)
        self._transport.after_answer(meta.request_id, begin)
        # Skills are read while the person types.
        self._requests.submit(refresh_offer, session.shelf, session.outbox)
        if session.servers is not None:
            self._transport.after_answer(meta.request_id, session.servers.start)

    def _replay(self, session: SessionState) -> None:
        """Show what happened."""
        library = self._factory.sessions
        transcript = library.archive.transcript(session.id)
        elsewhere = library.runs_elsewhere(transcript.session)
        updates = replay_params(
            transcript,
            session.mode,
            self._sessions.client,
            session.shelf.offer(),
            runs_elsewhere=elsewhere,
            call_ids=session.call_ids,
        )
        self._transport.pour("session/update", updates)


def _listed(raw: object) -> Sequence[object]:
    """A list as it came; the SDK has made sure that it is one."""
    return raw if isinstance(raw, list) else ()


def _fork_point(meta: RequestMeta) -> str | None:
    own = meta.meta.get("hermes")
    until = own.get("messageId") if isinstance(own, dict) else None
    if until is not None and not isinstance(until, str):
        raise RequestError("_meta.hermes.messageId must be the id of a message.")
    return until


class End(Protocol):
    """The end of the process, where serving is all that it does.

    Attributes:
        store: what stores, at last, what is left; it gives what the person is to be told, '' for nothing.
    """

    store: Callable[[], str]

    def begin(self) -> None:
        """Nothing more will come."""
        ...


async def serve(
    transport: Transport,
    config: ConfigSource,
    greeting: Greeting,
    *,
    ending: End | None = None,
    on_loaded: Callable[[], None] = lambda: None,
    load_sdk: Callable[[], None] = load_sdk,
) -> None:
    """Run the agent on `transport` until the client is gone.

    Args:
        ending: of the process.
        on_loaded: called, on a worker thread, when what a first prompt needs is loaded.
        load_sdk: loads the protocol's SDK; called on a worker thread.
    """
    transport.attach(asyncio.get_running_loop())
    agent = HermesACPAgent(transport, config, greeting, on_loaded, load_sdk)
    if ending is not None:
        ending.store = agent.store_rest
    try:
        await agent.adopt()
        if not await agent.ahead.until_loaded():
            return
        from acp_adapter.sdk import run_agent  # noqa: PLC0415 - it is loaded now

        # The flag opens resume, close and fork, which the protocol has as stable and SDK 0.12 calls unstable.
        await run_agent(agent, transport, use_unstable_protocol=True)  # type: ignore[arg-type] # methods it lacks answer -32601
    finally:
        if ending is not None:
            ending.begin()
        await agent.ahead.close()
        agent.shut_down()
