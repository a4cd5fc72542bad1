"""What a live session stores: operations, each of which may be tried again after a failure of unknown outcome.

There is one queue of them for each session, in the order in which things happened: turns, messages, compressions,
what files were, news of the background, what is kept between turns. Nothing leaves it but into the database, or, at
the end of the process, into a file (`spool`).

A commit that fails may have happened all the same. So an operation that was tried asks the database whether it is
done: a turn is known by its id and begin, a message by how many of its turn are stored, a change of a file by its
call and time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import ClassVar

from agent_core.background_tasks import News, TaskInfo
from agent_core.errors import StoreError
from agent_core.sessions.database import pack
from agent_core.sessions.journal import JournalRow, TurnJournal
from agent_core.sessions.records import NewSession
from agent_core.sessions.rows import (
    IN_HISTORY,
    PackedCompaction,
    PackedEvent,
    PackedMessage,
    PackedState,
    close_turn,
    delete_news,
    insert_message,
    insert_new,
    insert_turn,
    is_told,
    packed_events,
    write_events,
    write_state,
    write_title,
)
from tools.light_dataclass import dataclass


@dataclass(slots=True, eq=False)
class LiveTurn:
    """A turn that this process runs, or ran and has not stored to its end.

    Attributes:
        began_at: seconds since the epoch.
        number: its number in the session once it is stored.
        messages: how many were appended.
        visible: how many of them, at the end of the history, the model is shown.
        compactions: how many were made in it.
        stored: how many of them are stored; None after a failure, when only the database knows.
        taken: what the journal gave and is not stored yet; `events` is the same, packed.
    """

    id: str
    session_id: str
    journal: TurnJournal
    began_at: float
    number: int | None = None
    messages: int = 0
    visible: int = 0
    compactions: int = 0
    stored: int | None = 0
    taken: Sequence[JournalRow] = ()
    events: Sequence[PackedEvent] = ()

    def take(self) -> None:
        """Take what the journal has."""
        if self.journal.is_dirty:
            self.taken = self.journal.take()
            self.events = packed_events(self.taken)

    def write_events(self, connection: sqlite3.Connection) -> None:
        """Write what was taken. Twice does no harm."""
        if self.events and self.number is not None:
            write_events(connection, self.session_id, self.number, self.events)

    def settle(self) -> None:
        """What was taken is stored."""
        self.taken, self.events = (), ()

    def fail(self) -> None:
        """What was tried may be stored or not."""
        self.journal.put_back(self.taken)
        self.taken, self.events = (), ()
        self.stored = None


_KEPT_FINISHED = 50
# A session may have been deleted while something ran in it.
_IF_THERE = "FROM sessions WHERE id = ?1"
_ADD_NEWS = f"INSERT OR IGNORE INTO news (session_id, name, body, created_at) SELECT ?1, ?2, ?3, ?4 {_IF_THERE}"
_WRITE_TASK = (
    "INSERT INTO tasks (session_id, name, state, body, started_at, ended_at)"
    f" SELECT ?1, ?2, ?3, ?4, ?5, ?6 {_IF_THERE}"
    " ON CONFLICT (session_id, name) DO UPDATE SET state = excluded.state, body = excluded.body,"
    " started_at = excluded.started_at, ended_at = excluded.ended_at"
)
_DROP_OLD_TASKS = (
    "DELETE FROM tasks WHERE session_id = ?1 AND state NOT IN ('running', 'paused') AND id NOT IN (SELECT id FROM"
    " tasks WHERE session_id = ?1 AND state NOT IN ('running', 'paused') ORDER BY id DESC LIMIT ?2)"
)
_WITHDRAW = (
    "UPDATE messages SET hidden = 'withdrawn' WHERE hidden = '' AND id IN"
    " (SELECT id FROM messages WHERE session_id = ? AND turn = ? ORDER BY id LIMIT ?)"
)
_EMPTY = (
    "AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = turns.session_id AND turn = turns.number)"
    " AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = turns.session_id AND turn = turns.number)"
)
_ADD_COMPACTION = (
    "INSERT OR IGNORE INTO compactions (session_id, turn, number, messages, last_message, body, created_at)"  # noqa: S608 - a constant
    f" SELECT ?1, ?2, ?3, count(*), max(id), ?4, ?5 FROM messages WHERE {IN_HISTORY} HAVING count(*) > 0"
)


class Operation:
    """Something to be stored. Operations are done in order.

    Attributes:
        needs_lease: only the process that prompts the session may do it.
    """

    __slots__ = ()
    needs_lease: ClassVar[bool] = True

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, within a write transaction; once only, however often it is called."""
        raise NotImplementedError

    def instead(self, why: str) -> Operation | None:  # noqa: ARG002 - most have nothing
        """What to store in its place where it can never be; None for nothing."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class CreateSession(Operation):
    """A session begins. `now` is in seconds since the epoch."""

    new: NewSession
    now: float
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:  # noqa: ARG002 - it is in `new`
        """Store it; one that exists is left as it is."""
        insert_new(connection, self.new, self.now)


@dataclass(frozen=True, slots=True, eq=False)
class BeginTurn(Operation):
    """A turn begins."""

    turn: LiveTurn

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Give the turn its number."""
        turn, known = self.turn, None
        if turn.stored is None:  # it was tried
            query = "SELECT max(number) FROM turns WHERE session_id = ? AND id = ? AND began_at = ?"
            (known,) = connection.execute(query, (session_id, turn.id, turn.began_at)).fetchone()
        turn.number = known or insert_turn(connection, session_id, turn.id, turn.began_at)


@dataclass(frozen=True, slots=True, eq=False)
class AddMessage(Operation):
    """A message. `index` counts the turn's messages from 0."""

    turn: LiveTurn
    index: int
    message: PackedMessage

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        number = _number(self.turn)
        if self.turn.stored is None:
            query = "SELECT count(*) FROM messages WHERE session_id = ? AND turn = ?"
            (self.turn.stored,) = connection.execute(query, (session_id, number)).fetchone()
        if self.index >= (self.turn.stored or 0):
            insert_message(connection, session_id, number, self.message)
        if self.message.news:
            # In the same transaction: told once, and not lost.
            delete_news(connection, session_id, self.message.news)


@dataclass(frozen=True, slots=True, eq=False)
class Withdraw(Operation):
    """A turn's first `count` messages leave the model's history."""

    turn: LiveTurn
    count: int

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Mark them."""
        connection.execute(_WITHDRAW, (session_id, _number(self.turn), self.count))


@dataclass(frozen=True, slots=True, eq=False)
class AddCompaction(Operation):
    """A compression was made over the history as the operations before this one leave it.

    `number` counts those of the turn from 0, `messages` the messages of the history.
    """

    turn: LiveTurn
    number: int
    messages: int
    packed: PackedCompaction

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        made = (self.number, self.packed.body, self.packed.created_at)
        connection.execute(_ADD_COMPACTION, (session_id, _number(self.turn), *made))


@dataclass(frozen=True, slots=True, eq=False)
class CloseTurn(Operation):
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
            drop_empty_turns(connection, session_id, "number = ?", number)


@dataclass(frozen=True, slots=True, eq=False)
class AddEvents(Operation):
    """What the journal of a turn has to give that broke off."""

    turn: LiveTurn

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:  # noqa: ARG002 - the turn knows it
        """Write it."""
        _number(self.turn)
        self.turn.write_events(connection)


@dataclass(frozen=True, slots=True, eq=False)
class TellLeft(Operation):
    """The model is told of the prompt that turn number `turn` has left."""

    turn: int
    messages: Sequence[PackedMessage]

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        if not is_told(connection, session_id, self.turn):
            for message in self.messages:
                insert_message(connection, session_id, self.turn, message)


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOut(Operation):
    """The model is not told of the prompt that turn number `turn` has left, for ever. `now` as in `CloseTurn`."""

    turn: int
    now: float
    why: str

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Let the turn have failed."""
        close_turn(connection, session_id, self.turn, ended_at=self.now, outcome="error", note=self.why)


@dataclass(frozen=True, slots=True, eq=False)
class Keep(Operation):
    """What the session keeps between its turns."""

    packed: PackedState
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Put it in the place of what was kept."""
        write_state(connection, session_id, self.packed)


@dataclass(slots=True, eq=False)
class NameSession(Operation):
    """A title. `is_taken`: whether the session has no better one; not known before it is stored."""

    title: str
    source: str
    is_taken: bool | None = None
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless there is a better one."""
        self.is_taken = write_title(connection, session_id, self.title, self.source)


@dataclass(frozen=True, slots=True, eq=False)
class KeepNews(Operation):
    """News of the background, until a message that tells them is stored."""

    news: News
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        news = self.news
        told = {"source": news.source, "kind": news.kind, "title": news.title, "text": news.text}
        body = pack({**told, "outcome": news.outcome})
        connection.execute(_ADD_NEWS, (session_id, news.id, body, news.at))


@dataclass(frozen=True, slots=True, eq=False)
class DropNews(Operation):
    """News that need no message any more, by their ids."""

    names: tuple[str, ...]
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Remove them."""
        delete_news(connection, session_id, self.names)


@dataclass(frozen=True, slots=True, eq=False)
class KeepTask(Operation):
    """A task of the background as it is now."""

    task: TaskInfo
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Put it in the place of what was stored of it; of those that are over only the latest stay."""
        task = self.task
        body = pack({"kind": task.kind, "title": task.title, "detail": task.detail, "tells": task.tells})
        connection.execute(_WRITE_TASK, (session_id, task.id, task.state, body, task.started_at, task.ended_at))
        connection.execute(_DROP_OLD_TASKS, (session_id, _KEPT_FINISHED))


def drop_empty_turns(connection: sqlite3.Connection, session_id: str, which: str, *values: int) -> None:
    """Remove turns in which nothing was said and nothing happened. `which`: a condition in SQL, and its values."""
    connection.execute(f"DELETE FROM turns WHERE session_id = ? AND {which} {_EMPTY}", (session_id, *values))  # noqa: S608


def _number(turn: LiveTurn) -> int:
    if turn.number is None:
        raise StoreError(
            f"Turn {turn.id!r} has no row yet, though it should have. Restart hermes-acp and report this."
        )
    return turn.number
