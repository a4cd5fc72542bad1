"""Storing what this process's sessions have to store, in order, and going on where that fails."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from agent_core.errors import HermesError, RequestError, SessionInUse, StoreError, UnknownSession
from agent_core.messages import Message
from agent_core.sessions import leases
from agent_core.sessions.database import Database
from agent_core.sessions.housekeeping import Rhythm
from agent_core.sessions.operations import (
    AddEvents,
    AddMessage,
    CloseTurn,
    CreateSession,
    Keep,
    LiveTurn,
    Operation,
    TellLeft,
    drop_empty_turns,
)
from agent_core.sessions.records import Holder
from agent_core.sessions.rows import DELETING
from agent_core.sessions.schema import OpenFile
from agent_core.sessions.spool import Spool, Spooled
from agent_core.sessions.store_errors import primary_code
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

BUSY = "Another program writes to the database."
_LASTING = frozenset({"corrupt", "newer", "foreign"})
_OF_VALUES = frozenset(
    {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE}
)
"""What SQLite says of values, whenever they are tried."""


@dataclass(slots=True, eq=False)
class LiveSession:
    """A session that this process works with: what is known of it in memory, and what is not stored yet.

    Whoever reads or changes it holds `lock`, but for `trouble`.

    Attributes:
        messages: the model's history; None where it has to be read.
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
    def is_unborn(self) -> bool:
        """Whether the session itself waits to be stored."""
        return any(isinstance(operation, CreateSession) for operation in self.backlog)

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost without it, and no lease left behind."""
        return not (self.holds or self.backlog or self.turn)

    @property
    def has_to_write(self) -> bool:
        """Whether something waits to be stored."""
        return bool(self.backlog) or (self.turn is not None and self.turn.journal.is_dirty)

    def end_turn(self, now: float, outcome: str = "", note: str = "") -> None:
        """Nothing more is taken from the running turn, if there is one; its end is written with the next save."""
        turn = self.turn
        if turn is None:
            return
        turn.journal.close()
        self.backlog.append(CloseTurn(turn, now, outcome, note))
        self.turn = None

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

    def lose(self, now: float, why: str) -> None:
        """Another process prompts the session now: what is known of it here is out of date."""
        self.end_turn(now)
        self.messages = None
        self.holds, self.lost = False, True
        self.trouble = self.failure = why

    def go(self) -> None:
        """It is no live session any more; its turn is refused from now on."""
        if self.turn is not None:
            self.turn.journal.close()
            self.turn = None
        self.messages = None
        self.gone = True
        for spooled in self.spooled:
            spooled.let_go()


class LeaseLost(SessionInUse):
    """The lease was ours, and another process has taken it: it thought that this one was dead."""


class SessionVanished(StoreError):
    """The session was ours, and is not in the file that is there now."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} does not have this conversation any more: the file was deleted or replaced. Put it back, or "
            "copy what you still need from here."
        )


class WriteQueue:
    """Writes live sessions into the database: all that waits of one in one short transaction.

    The caller holds the session's lock.

    Args:
        clock: monotonic seconds.
        wake: have the store's thread look for what waits within so many seconds.

    Attributes:
        writes: how often something was written, so that quiet times can be seen.
    """

    def __init__(
        self,
        database: Database,
        identity: Holder,
        rhythm: Rhythm,
        clock: Callable[[], float],
        wake: Callable[[float], None],
    ) -> None:
        self.identity = identity
        self.spool = Spool(database.path)
        self.writes = 0
        self._database = database
        self._rhythm = rhythm
        self._clock = clock
        self._wake = wake

    def add(self, live: LiveSession, operation: Operation) -> bool:
        """Store an operation after what waits already; False if the session is not ours to write any more."""
        live.backlog.append(operation)
        if self.save(live):
            return True
        if operation in live.backlog:
            live.backlog.remove(operation)
        return False

    def save(self, live: LiveSession, patience: float | None = None) -> bool:
        """Store what waits, as far as that works; False if the session is not ours to write any more.

        Args:
            patience: seconds that a busy database is tried; None for as long as a turn waits.
        """
        if live.lost:
            return False
        if live.failing_since is not None and self._clock() < live.retry_at:
            return True
        try:
            self._write(live, patience)
        except StoreError as problem:
            self.note(live, problem)
        except SessionInUse as problem:
            log.warning("session %s, %d messages not stored: %s", live.id, live.unsaved, problem)
            live.lose(self._database.clock(), str(problem))
            return False
        except UnknownSession:
            live.go()
            return False
        return True

    def save_now(self, live: LiveSession, patience: float | None = None) -> bool:
        """Store what waits, even if that was tried a moment ago; whether nothing of it is left."""
        if live.has_to_write:
            live.retry_at = 0.0
            self.save(live, patience)
        return not live.backlog

    def claim(self, live: LiveSession, patience: float | None = None) -> None:
        """Take the lease and store what waits.

        Raises:
            UnknownSession, SessionInUse, StoreError.
        """
        try:
            self._write(live, patience, claim=True)
        except LeaseLost:
            live.holds = False
            live.messages = None
            self._write(live, patience, claim=True)

    def begin(self, live: LiveSession) -> None:
        """Take the lease and store what waits; where that cannot be stored, go on in memory.

        Raises:
            UnknownSession: there is no such session.
            SessionInUse: another living process has it, as far as can be seen.
        """
        try:
            self.claim(live)
        except StoreError as problem:
            self.note(live, problem)
            if not (live.holds or live.is_unborn):
                with contextlib.suppress(StoreError), self._database.read() as connection:
                    leases.refuse_others(connection, live.id, self.identity, self._database.clock())

    def note(self, live: LiveSession, problem: StoreError) -> None:
        """Remember why the session is not being saved. That others write just now is no news for the person, unless
        its turn is over: they may close the program.
        """
        now = self._clock()
        if live.failing_since is None:
            live.failing_since = now
        live.failure, live.may_heal = str(problem), problem.kind not in _LASTING
        is_over = any(isinstance(operation, CloseTurn) for operation in live.backlog)
        if problem.kind != "busy" or is_over or now - live.failing_since >= self._rhythm.bearable:
            if not live.trouble:
                log.warning("session %s is not being saved: %s", live.id, problem)
            live.trouble = (
                f"This conversation is not being saved at the moment. {problem} It goes on in memory, and is saved "
                "as soon as that works again; until then, do not close the program."
            )
        live.retry_at = now + self._rhythm.retry
        self._wake(self._rhythm.backlog)

    def leave(self, live: LiveSession, patience: float) -> None:
        """Store what waits, give the lease up and let the session go. What cannot be stored keeps it.

        Args:
            patience: seconds that a busy database is tried.
        """
        live.leaving = True
        try:
            if not live.is_idle and not (live.lost and not live.backlog):
                self._write(live, patience)
        except UnknownSession as problem:
            if live.backlog:
                log.warning("what session %s has to store is not: %s", live.id, problem)
        except (SessionVanished, SessionInUse) as problem:
            # Nothing that happens in this process makes it possible.
            self.set_down(live, problem)
        except StoreError as problem:
            self.note(live, problem)
            return
        live.go()

    def set_down(self, live: LiveSession, problem: HermesError) -> None:
        """Put what waits into a file, for the next process; in place of files with a part of it."""
        if not (waiting := live.waiting()):
            return
        try:
            written = self.spool.write(live.id, waiting)
        except (OSError, TypeError, ValueError) as failure:
            log.error("%d messages of session %s are lost. %s (%s)", live.unsaved, live.id, problem, failure)  # noqa: TRY400 - the text says it all
            return
        log.warning("what session %s has to store is in %s: %s", live.id, written.path, problem)
        live.failure = live.failure or str(problem)
        for earlier in live.spooled:
            earlier.remove()
        live.spooled = [written]

    def _write(self, live: LiveSession, patience: float | None, *, claim: bool = False) -> None:
        """Store the session's backlog and what its running turn's journal has; end its lease if it is leaving.

        Args:
            claim: take the lease, even if there is nothing to store.

        Raises:
            StoreError: it, or a part of it, could not be stored; the rest waits in the backlog. What can never be
                stored does not keep the rest from it: it is set aside, and told as `LiveSession.given_up`.
            LeaseLost: another process has the session now. SessionInUse: it has had it all along.
            SessionVanished: it is another file now, without the session. UnknownSession: the session was deleted.
        """
        allowed = self._rhythm.patience if patience is None else patience
        while (unstorable := self._try(live, allowed, claim=claim)) is not None:
            _set_aside(live, *unstorable)
        if live.failing_since is not None:
            log.info("session %s is saved again", live.id)
        live.failing_since, live.trouble, live.failure = None, "", ""
        for spooled in live.spooled:
            spooled.remove()
        live.spooled = []

    def _try(self, live: LiveSession, patience: float, *, claim: bool) -> tuple[Operation, BaseException] | None:
        """Store all that waits in one transaction; an operation that can never be stored, and why, if one is met."""
        batch, turns = list(live.backlog), _turns_to_take(live)
        for turn in turns:
            turn.take()
        if not (batch or claim or (live.leaving and live.holds) or any(turn.events for turn in turns)):
            return None
        applied: Operation | None = None
        try:
            with self._database.write(patience) as connection:
                claimed = self._authorise(connection, live, batch, claim=claim)
                for applied in batch:
                    applied.apply(connection, live.id)
                applied = None
                for turn in turns:
                    turn.write_events(connection)
                if live.leaving:
                    leases.give_up(connection, live.id, self.identity.token)
        except BaseException as problem:
            for turn in {*turns, *_turns_of(batch)}:
                turn.fail()
            live.unsure |= live.leaving
            if applied is None or not _is_its_own_fault(problem):
                raise
            return applied, problem
        self._settle(live, batch, turns)
        if claimed:
            live.holds, live.lost, live.unsure = True, False, False
            live.messages = None
        if live.leaving:
            live.holds = False
        return None

    def _settle(self, live: LiveSession, batch: Sequence[Operation], turns: Sequence[LiveTurn]) -> None:
        live.file = self._database.opened
        live.backlog.clear()
        for turn in turns:
            turn.settle()
        for operation in batch:
            if isinstance(operation, AddMessage):
                operation.turn.stored = operation.index + 1
        self.writes += 1

    def _authorise(
        self, connection: sqlite3.Connection, live: LiveSession, batch: Sequence[Operation], *, claim: bool
    ) -> bool:
        """Make sure that this process may write; True if the lease was taken now."""
        now = self._database.clock()
        if batch and isinstance(batch[0], CreateSession):
            batch[0].apply(connection, live.id)
        writes = claim or any(operation.needs_lease for operation in batch)
        if live.holds and not live.unsure:
            if not self._still_holds(connection, live, now, moves=writes):
                raise LeaseLost(
                    f"Session {live.id!r} was taken over by another program while this one did not answer. Go on "
                    "there, or send a prompt here once it is closed there."
                )
            if claim:  # at rest nobody has renewed it
                leases.renew(connection, live.id, self.identity, now)
            return False
        if not writes:
            if any(isinstance(operation, Keep) for operation in batch):
                leases.refuse_others(connection, live.id, self.identity, now)
            elif not all(isinstance(operation, CreateSession) for operation in batch):
                leases.read_holder(connection, live.id)  # tells whether there is such a session
            return False
        if leases.claim(connection, live.id, self.identity, now):
            # What a process began and left, dying, before anything happened.
            drop_empty_turns(connection, live.id, "ended_at IS NULL")
        if batch:  # else it is only taken, and what it keeps depends on when it was used
            _touch(connection, live.id, self.identity.token, now)
        return True

    def _still_holds(self, connection: sqlite3.Connection, live: LiveSession, now: float, *, moves: bool) -> bool:
        """Whether the lease is ours; where it is and `moves`, the session counts as used now."""
        token = self.identity.token
        if moves and _touch(connection, live.id, token, now):
            return True
        try:
            holder = leases.read_holder(connection, live.id)
        except UnknownSession as problem:
            if self._database.opened is live.file:
                raise
            raise SessionVanished(self._database.path) from problem
        return holder is not None and holder.token == token


def _touch(connection: sqlite3.Connection, session_id: str, token: str, now: float) -> bool:
    done = connection.execute(
        "UPDATE sessions SET updated_at = max(updated_at, ?) WHERE id = ? AND holder_token = ? AND archived < ?",
        (now, session_id, token, DELETING),
    )
    return done.rowcount > 0


def _turns_to_take(live: LiveSession) -> list[LiveTurn]:
    """Turns whose journals can be written together with the backlog."""
    ended = [operation.turn for operation in live.backlog if isinstance(operation, CloseTurn | AddEvents)]
    return ended if live.turn is None else [*ended, live.turn]


def _turns_of(batch: Sequence[Operation]) -> list[LiveTurn]:
    return [turn for operation in batch if isinstance(turn := getattr(operation, "turn", None), LiveTurn)]


def _is_its_own_fault(problem: BaseException) -> bool:
    """Whether what an operation raised is about itself, and not about the database: it would raise it each time."""
    why = problem.__cause__ or problem if isinstance(problem, StoreError) else problem
    if isinstance(why, sqlite3.Error):
        return primary_code(why) in _OF_VALUES or "binding parameter" in str(why)
    return isinstance(why, Exception) and not isinstance(
        why, RequestError | OSError | MemoryError | UnicodeDecodeError
    )


def _set_aside(live: LiveSession, operation: Operation, problem: BaseException) -> None:
    """Go on without an operation that can never be stored, with what says so in its place."""
    log.error("session %s: %s can never be stored", live.id, type(operation).__name__, exc_info=problem)
    live.given_up = (
        f"A part of this conversation cannot be saved ({type(problem).__name__}); the rest is. The log tells more."
    )
    at = live.backlog.index(operation)
    instead = operation.instead(f"what happened to it could not be noted ({type(problem).__name__})")
    live.backlog[at : at + 1] = [] if instead is None else [instead]
