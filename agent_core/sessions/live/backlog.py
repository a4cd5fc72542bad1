"""The operations that a live session stores, each of which may be tried again after a failure of unknown outcome.

A commit that fails may have happened all the same. So an operation that was tried asks the database whether it is
done: a turn is known by its id and begin, a message by how many of its turn are stored.
"""

from __future__ import annotations

import sqlite3
from typing import Protocol

from agent_core.errors import StoreError
from agent_core.sessions.archive.session_rows import insert_new
from agent_core.sessions.background.rows import delete_news
from agent_core.sessions.live.compaction_rows import PackedCompaction, insert_compaction
from agent_core.sessions.live.kept_rows import PackedState, write_state
from agent_core.sessions.live.live_turn import LiveTurn
from agent_core.sessions.live.message_rows import PackedMessage, insert_message, withdraw_messages
from agent_core.sessions.live.turn_rows import close_turn, drop_empty_turn, find_turn, insert_turn
from agent_core.sessions.records import NewSession
from tools.light_dataclass import dataclass


class Operation(Protocol):
    """Something to be stored. Operations are done in order, each after the lease was checked."""

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, within a write transaction; once only, however often it is called."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CreateSession:
    """A session begins. `now` is in seconds since the epoch."""

    new: NewSession
    now: float

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:  # noqa: ARG002 - it is in `new`
        """Store it; one that exists is left as it is."""
        insert_new(connection, self.new, self.now)


@dataclass(frozen=True, slots=True, eq=False)
class BeginTurn:
    """A turn begins."""

    turn: LiveTurn

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Give the turn its number."""
        turn = self.turn
        known = find_turn(connection, session_id, turn.id, turn.began_at) if turn.stored is None else None
        turn.number = known or insert_turn(connection, session_id, turn.id, turn.began_at)


@dataclass(frozen=True, slots=True, eq=False)
class AddMessage:
    """A message. `index` counts the turn's messages from 0."""

    turn: LiveTurn
    index: int
    message: PackedMessage

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        number = _number(self.turn)
        if self.index >= self.turn.count_stored(connection, number):
            insert_message(connection, session_id, number, self.message)
        if self.message.news:
            # In the same transaction: told once, and not lost.
            delete_news(connection, session_id, self.message.news)


@dataclass(frozen=True, slots=True, eq=False)
class Withdraw:
    """A turn's first `count` messages leave the model's history."""

    turn: LiveTurn
    count: int

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Mark them."""
        withdraw_messages(connection, session_id, _number(self.turn), self.count)


@dataclass(frozen=True, slots=True, eq=False)
class AddCompaction:
    """A compression was made over the history as the operations before this one leave it.

    `number` counts those of the turn from 0, `messages` the messages of the history.
    """

    turn: LiveTurn
    number: int
    messages: int
    packed: PackedCompaction

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        insert_compaction(connection, session_id, _number(self.turn), self.number, self.packed)


@dataclass(frozen=True, slots=True, eq=False)
class CloseTurn:
    """A turn ends. `now` is in seconds since the epoch; outcome and note as in `SessionStore.end_turn`."""

    turn: LiveTurn
    now: float
    outcome: str
    note: str

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Write the rest of its journal and how it ended; a turn in which nothing happened leaves no row."""
        number = _number(self.turn)
        self.turn.write_events(connection)
        close_turn(connection, session_id, number, ended_at=self.now, outcome=self.outcome, note=self.note)
        if not self.turn.messages:
            drop_empty_turn(connection, session_id, number)


@dataclass(frozen=True, slots=True, eq=False)
class Keep:
    """What the session keeps between its turns."""

    packed: PackedState

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Put it in the place of what was kept."""
        write_state(connection, session_id, self.packed)


def _number(turn: LiveTurn) -> int:
    if turn.number is None:
        raise StoreError(
            f"Turn {turn.id!r} has no row yet, though it should have. Restart hermes-acp and report this."
        )
    return turn.number
