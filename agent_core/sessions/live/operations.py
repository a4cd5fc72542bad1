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
from typing import ClassVar

from agent_core.background.news import News
from agent_core.background.tasks import TaskInfo
from agent_core.errors import StoreError
from agent_core.sessions.archive.session_rows import insert_new, write_title
from agent_core.sessions.background.rows import delete_news, insert_news, write_task
from agent_core.sessions.live.compaction_rows import PackedCompaction, insert_compaction
from agent_core.sessions.live.kept_rows import PackedState, write_state
from agent_core.sessions.live.live_turn import LiveTurn
from agent_core.sessions.live.message_rows import PackedMessage, insert_message, withdraw_messages
from agent_core.sessions.live.turn_rows import close_turn, drop_empty_turn, find_turn, insert_turn
from agent_core.sessions.records import NewSession
from tools.light_dataclass import dataclass

_SMALL = 256


class Operation:
    """Something to be stored. Operations are done in order.

    Attributes:
        needs_lease: only the process that prompts the session may do it.
    """

    __slots__ = ()
    needs_lease: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """Bytes that it holds in memory, about."""
        return _SMALL

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
        turn = self.turn
        known = find_turn(connection, session_id, turn.id, turn.began_at) if turn.stored is None else None
        turn.number = known or insert_turn(connection, session_id, turn.id, turn.began_at)


@dataclass(frozen=True, slots=True, eq=False)
class AddMessage(Operation):
    """A message. `index` counts the turn's messages from 0."""

    turn: LiveTurn
    index: int
    message: PackedMessage

    @property
    def size(self) -> int:
        """That of the message."""
        return _SMALL + len(self.message.body)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        number = _number(self.turn)
        if self.index >= self.turn.count_stored(connection, number):
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
        withdraw_messages(connection, session_id, _number(self.turn), self.count)


@dataclass(frozen=True, slots=True, eq=False)
class AddCompaction(Operation):
    """A compression was made over the history as the operations before this one leave it.

    `number` counts those of the turn from 0, `messages` the messages of the history.
    """

    turn: LiveTurn
    number: int
    messages: int
    packed: PackedCompaction

    @property
    def size(self) -> int:
        """That of what was made."""
        return _SMALL + len(self.packed.body)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        insert_compaction(connection, session_id, _number(self.turn), self.number, self.packed)


@dataclass(frozen=True, slots=True, eq=False)
class CloseTurn(Operation):
    """A turn ends. `now` is in seconds since the epoch; outcome and note as in `SessionStore.end_turn`."""

    turn: LiveTurn
    now: float
    outcome: str
    note: str

    @property
    def size(self) -> int:
        """That of the rest of its journal, once it is known."""
        return _SMALL + self.turn.unsaved

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Write the rest of its journal and how it ended; a turn in which nothing happened leaves no row."""
        number = _number(self.turn)
        self.turn.write_events(connection)
        close_turn(connection, session_id, number, ended_at=self.now, outcome=self.outcome, note=self.note)
        if not self.turn.messages:
            drop_empty_turn(connection, session_id, number)


@dataclass(frozen=True, slots=True, eq=False)
class AddEvents(Operation):
    """What the journal of a turn has to give that broke off."""

    turn: LiveTurn

    @property
    def size(self) -> int:
        """That of its journal, once it is known."""
        return _SMALL + self.turn.unsaved

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:  # noqa: ARG002 - the turn knows it
        """Write it."""
        _number(self.turn)
        self.turn.write_events(connection)


@dataclass(frozen=True, slots=True, eq=False)
class Keep(Operation):
    """What the session keeps between its turns."""

    packed: PackedState
    needs_lease: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """That of its texts."""
        texts = [text for named in (self.packed.system, self.packed.tools) if named is not None for text in named]
        return _SMALL + len(self.packed.kept) + sum(map(len, texts))

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

    @property
    def size(self) -> int:
        """That of its text."""
        return _SMALL + len(self.news.text)

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Store it, unless it is stored."""
        insert_news(connection, session_id, self.news)


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
        """Put it in the place of what was stored of it."""
        write_task(connection, session_id, self.task)


def _number(turn: LiveTurn) -> int:
    if turn.number is None:
        raise StoreError(
            f"Turn {turn.id!r} has no row yet, though it should have. Restart hermes-acp and report this."
        )
    return turn.number
