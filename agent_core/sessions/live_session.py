"""A session that this process works with: what is known of it in memory, and what is not stored yet."""

from __future__ import annotations

import threading
from dataclasses import field

from agent_core.compaction.engine import Compaction
from agent_core.messages import Message
from agent_core.sessions.operations import (
    BROKEN_OFF,
    AddEvents,
    AddMessage,
    CloseTurn,
    CreateSession,
    LiveTurn,
    Operation,
    TellLeft,
)
from agent_core.sessions.schema import OpenFile
from agent_core.sessions.spool import Spooled
from tools.light_dataclass import dataclass


@dataclass(slots=True, eq=False)
class LiveSession:
    """The state. Whoever reads or changes it holds `lock`, but for `trouble`.

    Attributes:
        messages: the model's history; None where it has to be read.
        compaction: the compression in effect, if `knows_compaction`; else it has to be read.
        all_told: the model is known to have been told of all that was said before the running, or the next, turn.
        turn: the running turn.
        backlog: what is not stored yet, in order.
        holds: the lease was ours when we last looked.
        file: what the database had opened when the lease was last seen to be ours.
        unsure: giving it up failed, and may have happened all the same.
        lost: another process took the lease; only a new turn may take it back.
        leaving: it was released, and goes as soon as the backlog is stored.
        gone: it is no longer one of the store's; look for its successor.
        failing_since: when saving began to fail, on the store's monotonic clock; None while it works.
        trouble: what the person is told about that.
        failure: why it is not being saved.
        may_heal: that may be over in a moment.
        given_up: what of it can never be stored, for the person.
        retry_at: not to be tried before, on the store's monotonic clock.
        spooled: files with what is in the backlog, or was.
    """

    id: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    messages: list[Message] | None = None
    compaction: Compaction | None = None
    knows_compaction: bool = False
    all_told: bool = False
    turn: LiveTurn | None = None
    backlog: list[Operation] = field(default_factory=list)
    holds: bool = False
    file: OpenFile | None = None
    unsure: bool = False
    lost: bool = False
    leaving: bool = False
    gone: bool = False
    failing_since: float | None = None
    trouble: str = ""
    failure: str = ""
    may_heal: bool = True
    given_up: str = ""
    retry_at: float = 0.0
    spooled: list[Spooled] = field(default_factory=list)

    @property
    def unsaved(self) -> int:
        """How many messages are not stored yet."""
        return sum(isinstance(operation, AddMessage | TellLeft) for operation in self.backlog)

    @property
    def waiting_bytes(self) -> int:
        """Of what is not stored yet."""
        turn = self.turn
        running = 0 if turn is None else turn.unsaved
        return running + sum(operation.size for operation in self.backlog)

    @property
    def is_unborn(self) -> bool:
        """Whether the session itself waits to be stored."""
        return any(isinstance(operation, CreateSession) for operation in self.backlog)

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost without it, and no lease left behind."""
        return not (self.holds or self.backlog or self.turn)

    def end_turn(self, now: float, outcome: str = "", note: str = "") -> None:
        """Nothing more is taken from the running turn, if there is one; its end is written with the next save."""
        turn = self.turn
        if turn is None:
            return
        turn.journal.close()
        self.backlog.append(CloseTurn(turn, now, outcome, note))
        self.turn = None
        if outcome in BROKEN_OFF:
            self.all_told = False

    def waiting(self) -> list[Operation]:
        """All that is not stored yet, with what the running turn has to tell so far."""
        turn = self.turn
        return [*self.backlog, *([AddEvents(turn)] if turn is not None and turn.journal.is_dirty else [])]

    def break_off(self) -> None:
        """The process ends: what the running turn has to tell is stored, and not how it ended."""
        if self.turn is not None:
            self.turn.journal.close()
            self.backlog = self.waiting()
            self.turn = None

    def begin_empty(self) -> None:
        """It is a new one: there is nothing to be read."""
        self.messages, self.compaction, self.knows_compaction, self.all_told = [], None, True, True

    def claimed(self) -> None:
        """It is this process's now: what is known of it is out of date."""
        self.holds, self.lost, self.unsure = True, False, False
        self.forget_history()

    def forget_history(self) -> None:
        """What is known of the conversation may be out of date."""
        self.messages, self.compaction, self.knows_compaction, self.all_told = None, None, False, False

    def lose(self, now: float, why: str) -> None:
        """Another process prompts the session now: what is known of it here is out of date."""
        self.end_turn(now)
        self.forget_history()
        self.holds, self.lost = False, True
        self.trouble = self.failure = why
