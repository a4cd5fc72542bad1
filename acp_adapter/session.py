"""A live session, and all those of a connection: opened, restored, forked, unloaded when idle, closed."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.client_io.calls import EditorCalls
from acp_adapter.client_io.endings import EndingHabits
from acp_adapter.commands.registry import CommandShelf, as_slash, refusal_in
from acp_adapter.events import EventBridge, Outbox
from acp_adapter.jsonrpc import RequestId
from acp_adapter.permissions import EditorApprover
from acp_adapter.projection import CardFields, updates_of
from acp_adapter.startup import Directories, SessionSeed, new_session_id
from acp_adapter.transport import Transport
from acp_adapter.workers import Workers
from agent_core.agent import AIAgent
from agent_core.background_tasks import News
from agent_core.cancel import CancelToken
from agent_core.errors import RequestError, SessionClosed, StoreError, UnknownSession
from agent_core.events import SaidPart, SessionEvent, SessionNamed
from agent_core.factory import AgentFactory
from agent_core.model_request.side_models import settings_of
from agent_core.notifications import NewsBox
from agent_core.services import SessionServices
from agent_core.sessions.operations import NameSession
from agent_core.sessions.records import NewSession, SessionRecord
from agent_core.sessions.store import SessionStore
from agent_core.sessions.titles import ask_title, clean_title, title_from_prompt
from agent_core.settings.options import SessionChoices
from agent_core.workspace import Workspace
from tools.approval.policy import Mode
from tools.light_dataclass import dataclass
from tools.ports import FileSystem
from tools.registry import Toolbox

if TYPE_CHECKING:
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.mcp.specs import ServerSpec


# What the editor lends a session's workspace: its unsaved files, and its terminals.


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
    from acp_adapter.client_io.files import EditorFileSystem, EditorMemory  # noqa: PLC0415 - not every editor has them

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


# The state of one live session.


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A prompt that was received and is not answered yet."""

    request_id: RequestId
    token: CancelToken


@dataclass(slots=True, eq=False)
class Behind:
    """How a session stands with news that come while no turn runs. Used on the event loop, but for `listen`.

    Attributes:
        hear: is told of each of them, on any thread.
        in_a_row: turns of its own since the person last said something.
        rests: its last turn was cancelled or failed: nothing begins by itself before the person says something.
        shown: ids of news that the person has been told of.
        question: whether to go on; None while that is not asked.
        looking: somebody is about to see what is to be done.
    """

    hear: Callable[[], None] = lambda: None
    in_a_row: int = 0
    rests: bool = False
    shown: set[str] = field(default_factory=set)
    question: CancelToken | None = None
    looking: bool = False
    _box: NewsBox | None = None
    _forget: Callable[[], None] = lambda: None

    def listen(self, box: NewsBox) -> None:
        """Hear of what comes into `box`, and of no other any more."""
        if box is self._box:
            return
        self._forget()
        self._box = box
        self._forget = box.on_put(lambda _: self.hear())

    def waiting(self) -> tuple[News, ...]:
        """The news that nobody has delivered."""
        return () if self._box is None else self._box.waiting()

    def leave(self) -> None:
        """Hear of nothing any more."""
        self._forget()
        self._box, self._forget = None, lambda: None
        if self.question is not None:
            self.question.cancel()


@dataclass(slots=True, eq=False)
class SessionState:
    """One live session. `turn` is held by the running prompt; others wait for it in the order they came.

    Attributes:
        calls: what its worker threads ask the editor.
        cards: what the editor has been sent of its open tool calls.
        choices: what the person chose for it; changed on the loop, one change after the other (`choosing`).
        servers: its MCP servers; None where it has none.
        servers_awaited: the first prompt has given them time to come up.
        failures_told: names of servers whose failure the person has been told of.
        question_timeout: seconds that a question waits for the person.
        idle_seconds: after so long without use it is unloaded; 0 is never.
        services, agent: None until the first prompt, and again after the session was unloaded; what they held is in
            the store.
        title: as it is stored; None while there is none.
        stored_model: provider:model that it used in an earlier process; '' for none.
        idle: when the session will be unloaded.
        shelf: the commands of the person's own.
        storing: the end of a turn that is answered already is being stored; until it is the next turn waits.
        bridge: of the turn, or the command that has a turn of its own, that runs or ran last.
        late: what commands have shown while no turn was open, in order; whoever has the turn next stores it first.
        behind: how it stands with news of the background.
        call_ids: those of cards that the editor may know; also of calls that were taken back or never stored.
        warnings: what the person should know of it, to be told with its next turn.
        is_new: it was opened here and has not come to a first turn; nobody else can have deleted what is not stored.
    """

    seed: SessionSeed
    workspace: Workspace
    outbox: Outbox
    calls: EditorCalls
    cards: CardFields
    choices: SessionChoices
    shelf: CommandShelf
    servers: SessionServers | None = None
    question_timeout: float | None = None
    idle_seconds: float = 0.0
    title: str | None = None
    stored_model: str = ""
    services: SessionServices | None = None
    agent: AIAgent | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    choosing: asyncio.Lock = field(default_factory=asyncio.Lock)
    tickets: list[Ticket] = field(default_factory=list)
    storing: asyncio.Future[None] | None = None
    turns_begun: int = 0
    idle: asyncio.TimerHandle | None = None
    is_new: bool = False
    bridge: EventBridge | None = None
    late: list[Sequence[SessionEvent]] = field(default_factory=list)
    telling: threading.Lock = field(default_factory=threading.Lock)
    behind: Behind = field(default_factory=Behind)
    servers_awaited: bool = False
    failures_told: set[str] = field(default_factory=set)
    call_ids: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.seed.session_id

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self.workspace.approvals.mode

    def open(self, bridge: EventBridge) -> Sequence[Sequence[SessionEvent]]:
        """From now on the turn of `bridge` is the open one, unless something is to be stored before: this."""
        with self.telling:
            late, self.late = self.late, []
            if not late:
                self.bridge = bridge
            return late

    def show(self, event: SessionEvent) -> None:
        """Show something in its place in the open turn, which takes it down."""
        if self.bridge is None or not self.bridge.record(event, shown=True):
            self.outbox.put(event)

    def tell_beside(self, said: SessionEvent, answer: SessionEvent) -> None:
        """Show the answer of a command beside turns; it is shown again in its place: in the open turn, or before the
        next one.
        """
        with self.telling:
            bridge = self.bridge
            late = [] if bridge is not None and bridge.record(said) else [said]
            if bridge is None or not bridge.record(answer, shown=True):
                self.outbox.put(answer)
                late.append(answer)
            if late:
                self.late.append(late)

    @property
    def news_waiting(self) -> int:
        """How many news of the background no turn has told the model of."""
        return len(self.behind.waiting())

    def take_warnings(self) -> list[str]:
        """What the person should know and was not told yet."""
        warnings, self.warnings = self.warnings, []
        return warnings

    def show_terminal(self, call_id: str, terminal_id: str) -> None:
        """A command of the running turn runs in a terminal of the editor's; from a worker thread."""
        if self.bridge is not None:
            self.bridge.on_terminal(call_id, terminal_id)

    def steer(self, text: str) -> bool:
        """Tell the running turn something; False, and nothing happens, if there is none."""
        agent, bridge = self.agent, self.bridge
        if agent is None or bridge is None or not agent.steer(text):
            return False
        bridge.note_steering(text)
        return True

    def cancel(self, before: CancelToken | None = None) -> bool:
        """Cancel the running prompt and those that wait behind it; False where there is none.

        Args:
            before: of a prompt that stays, with those that came behind it.
        """
        cancelled = list(itertools.takewhile(lambda ticket: ticket.token is not before, list(self.tickets)))
        for ticket in cancelled:
            ticket.token.cancel()
        return bool(cancelled)

    @property
    def model_used(self) -> str:
        """The provider:model that it used last; '' before its first turn."""
        return (self.services.model if self.services is not None else "") or self.stored_model

    @property
    def is_busy_behind(self) -> bool:
        """Whether something of it runs in the background."""
        return self.services is not None and self.services.tasks.is_busy()

    def unload(self) -> None:
        """Let go of what can be made again from the store."""
        self.stored_model = self.model_used
        # The bridge of the last turn knows its agent, and that all of the conversation.
        self.agent = self.services = self.bridge = None
        self.behind.leave()


# A session's title: from the first prompt at once, from the auxiliary model where there is one.

log = logging.getLogger(__name__)


def name_after_prompt(store: SessionStore, session: SessionState, said: Sequence[SaidPart]) -> None:
    """Give a session without a title one from its first prompt."""
    if session.title is None and (title := title_from_prompt(said)):
        _name(store, session, title, "prompt")


def wants_better(factory: AgentFactory, session: SessionState) -> bool:
    """Whether the auxiliary model is to be asked: after the first turn, where the user has chosen one for that."""
    return session.turns_begun == 1 and _has_own_model(factory)


def name_after_answer(factory: AgentFactory, session: SessionState, said: Sequence[SaidPart], answer: str) -> None:
    """Ask the auxiliary model for a title. Whatever goes wrong, the title stays as it is."""
    try:
        if session.title != title_from_prompt(said):
            return
        if title := ask_title(factory.auxiliary().complete, said, answer):
            _name(factory.sessions.store, session, title, "model")
    except Exception:
        log.exception("the title of session %s could not be asked for", session.id)


def _has_own_model(factory: AgentFactory) -> bool:
    wanted = settings_of(factory.settings(), "title")
    return bool(wanted.model or wanted.provider or wanted.base_url)


def _name(store: SessionStore, session: SessionState, title: str, source: Literal["prompt", "model"]) -> None:
    named = NameSession(clean_title(title), source)
    if named.title:
        store.note(session.id, named)
    if named.title and named.is_taken is not False:
        session.title = title
        session.outbox.put(SessionNamed(title, time.time()))


# The sessions of one connection.

_LONGEST_SOURCE = 100
_MISSING = "The directory {path} is not used: {reason}. When it is there, open the session again."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session shall work, and the MCP servers that the client wants in it."""

    directories: Directories
    servers: tuple[ServerSpec, ...] = ()

    def seed(self, session_id: str, choices: SessionChoices) -> SessionSeed:
        """A session of that id there."""
        return SessionSeed(session_id, *self.directories[:2], self.servers, choices, self.directories.missing)


class SessionManager:
    """The sessions of one connection. Used on the event loop only.

    `client` is what the client can do, `source` its name for itself; `on_live` is told of each that comes to be live.
    """

    def __init__(self, factory: AgentFactory, transport: Transport, workers: Workers) -> None:
        """Make it.

        Args:
            transport: carries events, and the questions of worker threads.
            workers: threads for what blocks.
        """
        self._workers = workers
        self._factory = factory
        self._transport = transport
        self.client = ClientCapabilities()
        self._endings = EndingHabits()
        self._sessions: dict[str, SessionState] = {}
        self._closed: set[str] = set()
        self._unloading: set[asyncio.Task[None]] = set()
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.source = ""
        self.on_live: Callable[[SessionState], None] = lambda _: None

    async def open(self, sow: Callable[[], SessionSeed], *, held: bool) -> SessionState:
        """Begin a session. `held`: its updates wait until `outbox.release`, because the editor does not know it yet.

        Args:
            sow: makes its seed, on a worker thread.

        Raises:
            SettingsError: the settings cannot be read. Also what `sow` raises.
        """

        def prepare() -> tuple[SessionSeed, _Prepared]:
            seed = sow()
            return seed, self._prepare(seed, lambda: self._factory.sessions.store.create_new(self._new(seed)))

        seed, prepared = await self._workers.run(prepare)
        session = self._enter(seed, prepared, held=held)
        session.is_new = True
        return session

    async def restore(self, session_id: str, finding_place: Awaitable[Place]) -> SessionState:
        """Make a stored session live, in the directories that the client names; its updates wait.

        Its turn is held, so that no prompt begins before the client has been told of the session: `begin` lets go.

        Args:
            finding_place: awaited here, so that whoever asks for the session from now on waits (`reach`).

        Raises:
            UnknownSession: there is none of that id.
            RequestError: a prompt is running in it.
            StoreError: it cannot be read. SettingsError: the settings cannot be read.
        """
        library = self._factory.sessions

        def prepare(place: Place) -> tuple[SessionRecord, SessionSeed, _Prepared]:
            record = library.archive.get(session_id)
            seed = place.seed(session_id, self._factory.choices(record))
            move = partial(library.move, session_id, str(seed.cwd), seed.named_roots)
            return record, seed, self._prepare(seed, move)

        def check() -> None:
            library.store.settle(session_id)
            library.archive.get(session_id)
            self._factory.settings()

        async with self._change(session_id):
            place = await finding_place
            # What cannot be brought back is not given up either.
            await self._workers.run(check)
            await self._leave(session_id)
            record, seed, prepared = await self._workers.run(lambda: prepare(place))
            session = self._enter(seed, prepared, held=True)
            session.title, session.stored_model = record.title, record.model or ""
            await session.turn.acquire()
        return session

    @staticmethod
    def begin(session: SessionState) -> None:
        """The client has been told of a restored session: its updates and prompts may go."""
        session.outbox.release()
        session.turn.release()

    async def give_up(self, session: SessionState) -> None:
        """Close a restored session that could not be shown: the client, whose load fails, is told nothing of it."""
        session.turn.release()
        await self.close(session)

    async def fork(self, session_id: str, place: Place, until: str | None) -> SessionState:
        """A new session that begins with another's history, up to the message `until` where one is named.

        Raises:
            UnknownSession: there is no session of that id. RequestError: it has no such message.
            StoreError: it cannot be read or stored. SettingsError: the settings cannot be read.
        """

        def prepare() -> tuple[SessionRecord, SessionSeed, _Prepared]:
            archive = self._factory.sessions.archive
            self._factory.sessions.store.settle(session_id)
            seed = place.seed(new_session_id(), self._factory.choices(archive.get(session_id)))
            made = list[SessionRecord]()
            prepared = self._prepare(seed, lambda: made.append(archive.fork(session_id, self._new(seed), until)))
            return made[0], seed, prepared

        record, seed, prepared = await self._workers.run(prepare)
        session = self._enter(seed, prepared, held=True)
        session.title, session.stored_model = record.title, record.model or ""
        return session

    async def reach(self, session_id: str) -> SessionState:
        """The live session of that id; one that is being restored, closed or deleted just now is waited for.

        Raises:
            UnknownSession: there is none. SessionClosed: it is stored, and not live.
        """
        changing = self._changing.get(session_id)
        if changing is not None:
            # Not only while it is locked: between two who change it, it is not, and the next one's turn has come.
            async with changing:
                pass
        if session_id not in self._sessions and await self._is_stored(session_id):
            raise SessionClosed(session_id)
        return self.get(session_id)

    def get(self, session_id: str) -> SessionState:
        """The live session of that id.

        Raises:
            UnknownSession: there is none.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise UnknownSession(session_id)
        return session

    def is_live(self, session: SessionState) -> bool:
        """Whether it was not closed, deleted or loaded anew."""
        return self._sessions.get(session.id) is session

    def all(self) -> list[SessionState]:
        """Every live session."""
        return list(self._sessions.values())

    def deliver(self, session_id: str, cards: CardFields, event: SessionEvent) -> int:
        """Send what an event adds to what the editor has been sent of a session; the position of its end."""
        position = 0
        for update in updates_of(event, self.client):
            if (new := cards.trim(update)) is not None:
                position = self._transport.notify("session/update", {"sessionId": session_id, "update": new})
        return position

    def rest(self, session: SessionState) -> None:
        """A session was used just now: it is unloaded if that does not happen again for a while."""
        if session.idle is not None:
            session.idle.cancel()
        session.idle = None
        if self._sessions.get(session.id) is session and session.idle_seconds:
            loop = asyncio.get_running_loop()
            session.idle = loop.call_later(session.idle_seconds, self._unload_soon, session)

    async def close(self, session: SessionState) -> None:
        """Cancel a session's work, wait for its turn to end, and free everything it holds; it stays stored."""
        # Who loads it meanwhile waits: what is freed here by its id must not be the new one's.
        async with self._change(session.id):
            await self._end(session)

    async def close_named(self, session_id: str) -> None:
        """Close the session of that id: the one that is live when all that was asked of it before is done. One that
        is closed already stays so.

        Raises:
            UnknownSession: there is none.
        """
        # Looked up here: a load that was asked for before this puts a new one in the old one's place.
        async with self._change(session_id):
            is_closed = session_id in self._closed or await self._is_stored(session_id)
            if session_id in self._sessions or not is_closed:
                await self._end(self.get(session_id))
                self._closed.add(session_id)  # what was never prompted is not stored

    async def delete(self, session_id: str) -> None:
        """Remove a session, live or stored, and every trace of it; without one of that id nothing happens.

        Raises:
            SessionInUse: another process prompts it. StoreError: it could not be removed.
        """
        library = self._factory.sessions
        async with self._change(session_id):
            live = self._sessions.get(session_id)
            if live is None:
                await self._workers.run(lambda: library.delete(session_id))
                return
            # What will not be deleted is not cancelled, and what cannot be is not closed.
            await self._workers.run(lambda: library.refuse_held(session_id, "deleted"))
            live.cancel()
            live.workspace.children.cancel()
            async with live.turn:
                await self._workers.run(lambda: library.delete(session_id))
            await self._end(live)

    async def _end(self, session: SessionState) -> None:
        if self._sessions.get(session.id) is session:
            del self._sessions[session.id]
        if session.idle is not None:
            session.idle.cancel()
        session.cancel()
        async with session.turn:
            session.unload()
            await self._workers.run(lambda: self._free(session))
        # A title or a list of models may still be on its way; the editor knows no such session any more.
        await session.outbox.close()

    async def _is_stored(self, session_id: str) -> bool:
        def look() -> bool:
            try:
                self._factory.sessions.archive.get(session_id)
            except (UnknownSession, StoreError):
                return False
            return True

        return await self._workers.run(look)

    def _change(self, session_id: str) -> asyncio.Lock:
        """Held while a session of that id comes to be live, is closed or deleted."""
        return self._changing.setdefault(session_id, asyncio.Lock())

    async def _leave(self, session_id: str) -> None:
        """A client that loads a live session again gets it anew."""
        live = self._sessions.get(session_id)
        if live is None:
            return
        if live.tickets:
            raise RequestError(
                f"A prompt is running in session {session_id!r}. Cancel it or wait for its end, then load it again."
            )
        await self._end(live)

    def _unload_soon(self, session: SessionState) -> None:
        task = asyncio.ensure_future(self._unload(session))
        self._unloading.add(task)
        task.add_done_callback(self._unloading.discard)

    async def _unload(self, session: SessionState) -> None:
        if session.tickets or self._sessions.get(session.id) is not session:
            return
        # A server that the person still uses, or work whose end somebody waits for.
        if session.is_busy_behind or await self._workers.run(session.workspace.terminal.is_busy):
            self.rest(session)
            return
        async with session.turn:
            if session.tickets or self._sessions.get(session.id) is not session:
                return
            session.unload()
            await self._workers.run(lambda: self._let_go(session))
        log.info("session %s is unloaded; its next prompt brings it back", session.id)

    def _enter(self, seed: SessionSeed, prepared: _Prepared, *, held: bool) -> SessionState:
        loop, client = asyncio.get_running_loop(), self.client

        def wants_terminals() -> bool:
            return session.choices.editor_terminals

        def show_terminal(call_id: str, terminal_id: str) -> None:
            session.show_terminal(call_id, terminal_id)

        def tell(text: str) -> None:
            if session.bridge is not None:
                session.bridge.on_notice(text)

        cards = CardFields()
        deliver = partial(self.deliver, seed.session_id, cards)
        outbox = Outbox(loop, deliver, self._transport.once_written, held=held)
        calls = EditorCalls(self._transport, loop, seed.session_id, outbox, cards)
        workspace = with_servers(prepared.workspace, prepared.servers)
        workspace = with_editor_files(workspace, calls, client, self._endings)
        workspace = with_editor_terminals(workspace, calls, client, wants_terminals, show_terminal)
        workspace.approvals.approver = EditorApprover(calls, client, prepared.timeout, seed.cwd)
        workspace.approvals.on_note = tell
        session = SessionState(
            seed=seed,
            workspace=workspace,
            outbox=outbox,
            calls=calls,
            cards=cards,
            choices=seed.choices,
            shelf=prepared.shelf,
            servers=prepared.servers,
            question_timeout=prepared.timeout,
            idle_seconds=prepared.idle_seconds,
            warnings=[_MISSING.format(path=path, reason=reason) for path, reason in seed.missing],
        )
        self._sessions[seed.session_id] = session
        if (servers := prepared.servers) is not None:
            shelf = prepared.shelf
            shelf.servers = servers
            servers.on_prompts = lambda: outbox.put(shelf.offer())
        self.on_live(session)
        return session

    def _new(self, seed: SessionSeed) -> NewSession:
        source, choices = self.source[:_LONGEST_SOURCE] or "acp", seed.choices
        options = choices.stored()
        return NewSession(seed.session_id, str(seed.cwd), seed.named_roots, source, choices.mode, options=options)

    def _prepare(self, seed: SessionSeed, store: Callable[[], object]) -> _Prepared:
        """What a session needs that `store` stores; where one of the two fails, nothing of it is left."""
        workspace = self._factory.workspace(seed.cwd, seed.extra_roots, seed.choices, seed.session_id)
        try:
            prepared = self._prepared(seed, workspace)
            store()
        except BaseException:
            workspace.close()
            self._factory.let_go(seed.session_id)
            raise
        return prepared

    def _prepared(self, seed: SessionSeed, workspace: Workspace) -> _Prepared:
        plugins = self._factory.plugins
        shelf = CommandShelf(
            seed.cwd,
            self._factory.home.root,
            workspace.skills,
            lambda: [as_slash(command) for command in plugins.commands(seed.cwd)],
            refusal_in(workspace),
        )
        shelf.refresh()
        # Made here, because the first ones of a process load their code.
        servers = self._factory.servers(seed.servers, (seed.cwd, *seed.extra_roots))
        settings = self._factory.settings()
        idle_seconds = settings.sessions.idle_minutes * 60.0
        return _Prepared(workspace, shelf, servers, settings.approvals.timeout, idle_seconds)

    def _free(self, session: SessionState) -> None:
        if session.servers is not None:
            session.servers.close()
        # Before what runs is ended: it would be taken for an end of its own.
        self._factory.background.end(session.id, "the session was closed")
        session.workspace.close()
        self._let_go(session)

    def _let_go(self, session: SessionState) -> None:
        self._factory.background.end(session.id, "the session was closed")
        self._factory.let_go(session.id)
        self._factory.sessions.unload(session.id)
        session.workspace.containment.hosts.forget()


@dataclass(frozen=True, slots=True)
class _Prepared:
    workspace: Workspace
    shelf: CommandShelf
    servers: SessionServers | None
    timeout: float
    idle_seconds: float
