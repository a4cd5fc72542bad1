"""One live session: its directories, its outbox, its agent, and the prompts it has been sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from acp_adapter.handshake import SessionSeed
from acp_adapter.jsonrpc import RequestId
from acp_adapter.outbox import Outbox
from agent_core.agent import AIAgent
from agent_core.interrupt import CancelToken
from agent_core.services import SessionServices
from agent_core.workspace import Workspace
from tools.approval.policy import Mode


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """A prompt that was received and is not answered yet."""

    request_id: RequestId
    token: CancelToken


@dataclass(slots=True, eq=False)
class SessionState:
    """One live session. `turn` is held by the running prompt; others wait for it in the order they came.

    Attributes:
        idle_seconds: after so long without use it is unloaded; 0 is never.
        services, agent: None until the first prompt, and again after the session was unloaded; what they held is in
            the store.
        title: as it is stored; None while there is none.
        idle: when the session will be unloaded.
        is_new: it was opened here and has not come to a first turn; nobody else can have deleted what is not stored.
    """

    seed: SessionSeed
    workspace: Workspace
    outbox: Outbox
    idle_seconds: float = 0.0
    title: str | None = None
    services: SessionServices | None = None
    agent: AIAgent | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    tickets: list[Ticket] = field(default_factory=list)
    turns_begun: int = 0
    idle: asyncio.TimerHandle | None = None
    is_new: bool = False

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

    def unload(self) -> None:
        """Let go of what can be made again from the store."""
        self.agent = self.services = None
