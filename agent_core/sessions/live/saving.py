"""Storing what a live session has not stored yet: everything that waits, in order, in one short transaction."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from agent_core.errors import RequestError, SessionInUse, StoreError, UnknownSession
from agent_core.sessions.archive.session_rows import DELETING
from agent_core.sessions.database.database import Database
from agent_core.sessions.database.store_faults import primary_code
from agent_core.sessions.live import leases
from agent_core.sessions.live.ahead import ReadAhead
from agent_core.sessions.live.live_session import LiveSession
from agent_core.sessions.live.live_turn import LiveTurn
from agent_core.sessions.live.operations import AddEvents, AddMessage, CloseTurn, CreateSession, Keep, Operation
from agent_core.sessions.live.turn_rows import drop_turns_left_empty

log = logging.getLogger(__name__)

_OF_VALUES = frozenset(
    {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE}
)
"""What SQLite says of values, whenever they are tried."""

_BATCH = 200  # operations: after long trouble other processes want to write as well


class LeaseLost(SessionInUse):
    """The lease was ours, and another process has taken it: it thought that this one was dead."""


class SessionVanished(StoreError):
    """The session was ours, and is not in the file that is there now."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} does not have this conversation any more: the file was deleted or replaced. Put it back, or "
            "copy what you still need from here."
        )


class Saver:
    """Writes live sessions into the database. The caller holds the session's lock.

    Args:
        patience: seconds that a turn waits for a busy database.

    Attributes:
        saves: counts what was written, so that quiet times can be seen.
    """

    def __init__(self, database: Database, identity: leases.ProcessIdentity, patience: float) -> None:
        self.database = database
        self.identity = identity
        self.patience = patience
        self.saves = 0

    def save(
        self,
        live: LiveSession,
        *,
        claim: bool = False,
        patience: float | None = None,
        ahead: ReadAhead | None = None,
    ) -> None:
        """Store the session's backlog and what its running turn's journal has; end its lease if it is leaving.

        Args:
            claim: take the lease, even if there is nothing to store.
            patience: seconds, instead of the usual.
            ahead: what was read of the session; where that is so still when the lease is taken, it is known.

        Raises:
            StoreError: it, or a part of it, could not be stored; the rest waits in the backlog. What can never be
                stored does not keep the rest from it: it is set aside, and told as `LiveSession.given_up`.
            LeaseLost: another process has the session now. SessionInUse: it has had it all along.
            SessionVanished: it is another file now, without the session. UnknownSession: the session was deleted.
        """
        allowed = self.patience if patience is None else patience
        while self._save_some(live, claim=claim, patience=allowed, ahead=ahead):
            pass

    def _save_some(self, live: LiveSession, *, claim: bool, patience: float, ahead: ReadAhead | None) -> bool:
        """Store the first operations; whether there is more to store."""
        batch = live.backlog[:_BATCH]
        is_last = len(batch) == len(live.backlog)
        turns = _turns_to_take(batch, live.turn if is_last else None)
        for turn in turns:
            turn.take(final=turn is not live.turn)
        leaves = is_last and live.leaving
        if not (batch or claim or (leaves and live.holds) or any(turn.events for turn in turns)):
            return False
        claimed = is_as_read = False
        applied: Operation | None = None
        try:
            with self.database.write(patience) as connection:
                is_as_read = ahead is not None and ahead.is_now(connection)
                claimed = self._authorise(connection, live, batch, claim=claim)
                for applied in batch:
                    applied.apply(connection, live.id)
                applied = None
                for turn in turns:
                    turn.write_events(connection)
                if leaves:
                    leases.give_up(connection, live.id, self.identity.token)
        except BaseException as problem:
            for turn in {*turns, *_turns_of(batch)}:
                turn.fail()
            live.unsure |= leaves
            if applied is None or not _is_its_own_fault(problem):
                raise
            _set_aside(live, applied, problem)
            return True
        self._settle(live, batch, turns)
        if claimed:
            live.claimed(ahead if is_as_read else None)
        if leaves:
            live.holds = False
        return bool(live.backlog)

    def _settle(self, live: LiveSession, batch: Sequence[Operation], turns: Sequence[LiveTurn]) -> None:
        live.file = self.database.opened
        del live.backlog[: len(batch)]
        for turn in turns:
            turn.settle()
        for operation in batch:
            if isinstance(operation, AddMessage):
                operation.turn.stored = operation.index + 1
        self.saves += 1

    def _authorise(
        self, connection: sqlite3.Connection, live: LiveSession, batch: Sequence[Operation], *, claim: bool
    ) -> bool:
        """Make sure that this process may write; True if the lease was taken now."""
        now = self.database.clock()
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
            if all(isinstance(operation, CreateSession) for operation in batch):
                return False
            holder = leases.read_holder(connection, live.id)
            keeps = any(isinstance(operation, Keep) for operation in batch)
            if keeps and holder is not None and holder.token != self.identity.token:
                leases.refuse_living(holder, live.id, now)
            return False
        if leases.claim(connection, live.id, self.identity, now):
            drop_turns_left_empty(connection, live.id)
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
            if self.database.opened is live.file:
                raise
            raise SessionVanished(self.database.path) from problem
        return holder is not None and holder.token == token


def _touch(connection: sqlite3.Connection, session_id: str, token: str, now: float) -> bool:
    done = connection.execute(
        "UPDATE sessions SET updated_at = max(updated_at, ?) WHERE id = ? AND holder_token = ? AND archived < ?",
        (now, session_id, token, DELETING),
    )
    return done.rowcount > 0


def _turns_to_take(batch: Sequence[Operation], running: LiveTurn | None) -> list[LiveTurn]:
    """Turns whose journals can be written together with `batch`."""
    ended = [operation.turn for operation in batch if isinstance(operation, CloseTurn | AddEvents)]
    return [*ended, running] if running is not None else ended


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
