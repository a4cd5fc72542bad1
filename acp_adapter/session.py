"""Live sessions: each with its directories, its outbox, its agent, and the prompts it has been sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from acp_adapter.handshake import SessionSeed
from acp_adapter.jsonrpc import RequestId
from acp_adapter.outbox import Outbox
from acp_adapter.permissions import Ask, EditorApprover
from agent_core.agent import AIAgent
from agent_core.errors import UnknownSession
from agent_core.events import SessionEvent
from agent_core.factory import AgentFactory
from agent_core.interrupt import CancelToken
from agent_core.services import SessionServices
from agent_core.workspace import Workspace
from tools.approval.policy import Mode

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A prompt that was received and is not answered yet."""

    request_id: RequestId
    token: CancelToken


@dataclass(slots=True, eq=False)
class SessionState:
    """One live session. `turn` is held by the running prompt; others wait for it in the order they came."""

    seed: SessionSeed
    workspace: Workspace
    outbox: Outbox
    services: SessionServices = field(default_factory=SessionServices)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    tickets: list[Ticket] = field(default_factory=list)
    agent: AIAgent | None = None
    turns_begun: int = 0

    @property
    def id(self) -> str:
        """The session's id."""
        return self.seed.session_id

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self.workspace.approvals.mode

    def cancel(self) -> None:
        """Cancel the running prompt and those that wait behind it."""
        for ticket in list(self.tickets):
            ticket.token.cancel()


Deliver = Callable[[str, SessionEvent], Awaitable[None]]


class RunBlocking(Protocol):
    """Runs a function on a worker thread and awaits its result."""

    async def __call__(self, function: Callable[[], _T]) -> _T:
        """Run it."""
        ...


class SessionManager:
    """The sessions of one connection. Used on the event loop only."""

    def __init__(self, factory: AgentFactory, deliver: Deliver, ask: Ask, run_blocking: RunBlocking) -> None:
        """Make it.

        Args:
            deliver: shows an event of a session (by id) in the editor.
            ask: puts a permission question.
            run_blocking: runs a function on a worker thread.
        """
        self._run_blocking = run_blocking
        self._factory = factory
        self._deliver = deliver
        self._ask = ask
        self._sessions: dict[str, SessionState] = {}

    async def open(self, seed: SessionSeed, *, held: bool) -> SessionState:
        """Begin a session. `held`: its updates wait until `outbox.release`, because the editor does not know it yet.

        Raises:
            SettingsError: the settings cannot be read.
        """
        workspace, timeout = await self._run_blocking(lambda: self._prepare(seed))
        loop = asyncio.get_running_loop()

        async def deliver(event: SessionEvent) -> None:
            await self._deliver(seed.session_id, event)

        outbox = Outbox(loop, deliver, held=held)
        workspace.approvals.approver = EditorApprover(loop, seed.session_id, outbox, self._ask, timeout)
        session = SessionState(seed, workspace, outbox)
        self._sessions[seed.session_id] = session
        return session

    def get(self, session_id: str) -> SessionState:
        """The session of that id.

        Raises:
            UnknownSession: there is none.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise UnknownSession(session_id)
        return session

    def all(self) -> list[SessionState]:
        """Every live session."""
        return list(self._sessions.values())

    async def close(self, session: SessionState) -> None:
        """Cancel a session's work, wait for its turn to end, and free everything it holds."""
        self._sessions.pop(session.id, None)
        session.cancel()
        async with session.turn:
            await self._run_blocking(session.workspace.close)
        self._factory.store.release(session.id)

    def _prepare(self, seed: SessionSeed) -> tuple[Workspace, float]:
        workspace = self._factory.workspace(seed.cwd, seed.extra_roots, seed.mode)
        return workspace, self._factory.approval_timeout()
