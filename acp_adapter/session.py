"""One live session: its directories, its outbox, its agent, and the prompts it has been sent."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from acp_adapter.card_fields import CardFields
from acp_adapter.commands.shelf import CommandShelf
from acp_adapter.editor_calls import EditorCalls
from acp_adapter.events import EventBridge
from acp_adapter.handshake import SessionSeed
from acp_adapter.jsonrpc import RequestId
from acp_adapter.outbox import Outbox
from agent_core.agent import AIAgent
from agent_core.background.news import News, NewsBox
from agent_core.choices import SessionChoices
from agent_core.events import SessionEvent
from agent_core.interrupt import CancelToken
from agent_core.services import SessionServices
from agent_core.workspace import Workspace
from tools.approval.policy import Mode
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.rehearsing import Rehearsed


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
        rehearsed: what its first prompt can go on from; None: nothing.
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
    rehearsed: Rehearsed | None = None
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

    def take_warnings(self) -> list[str]:
        """What the person should know and was not told yet."""
        warnings, self.warnings = self.warnings, []
        return warnings

    def show_terminal(self, call_id: str, terminal_id: str) -> None:
        """A command of the running turn runs in a terminal of the editor's; from a worker thread."""
        if self.bridge is not None:
            self.bridge.on_terminal(call_id, terminal_id)

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
        self.agent = self.services = self.bridge = self.rehearsed = None
        self.behind.leave()
