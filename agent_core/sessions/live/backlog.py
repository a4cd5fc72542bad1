"""The queue of what a live session stores: operations, each of which may be tried again after a failure of unknown
outcome.

There is one for each session, in the order in which things happened: turns, messages, compressions, what files were,
news of the background, what is kept between turns. Nothing leaves it but into the database, or, at the end of the
process, into a file, one for each session, which the next start takes in. These lie in the home, or, where that
cannot be written to, in the directory for temporary files; for the user alone. A file is locked while its process
lives, which may still store what is in it.

A commit that fails may have happened all the same. So an operation that was tried asks the database whether it is
done: a turn is known by its id and begin, a message by how many of its turn are stored, a change of a file by its
call and time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import sqlite3
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
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
from tools.file_locks import lock
from tools.light_dataclass import dataclass
from tools.os_flags import O_CLOEXEC, O_NOFOLLOW, own_user

log = logging.getLogger(__name__)

MOST_BYTES = 16 << 20
"""Of a session that waits to be stored: a turn whose session has more waits itself."""

_SMALL = 256
_NAME_LENGTH = 32


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


@dataclass(slots=True, eq=False)
class Spooled:
    """A file of what a session has to store. It stays until `remove`; `let_go` leaves it to another process."""

    path: Path
    session_id: str
    operations: Sequence[Operation]
    descriptor: int | None

    def remove(self) -> None:
        """All of it is stored."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Whoever starts next may take it in."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class Spool:
    """The files of one database with what could not be stored before the end of a process."""

    def __init__(self, database: Path) -> None:
        digest = hashlib.sha256(os.fsencode(database)).hexdigest()[:_NAME_LENGTH]
        self.places = (
            database.parent / "unsaved",
            Path(tempfile.gettempdir()) / f"hermes-acp-unsaved-{own_user()}-{digest}",
        )

    def write(self, session_id: str, operations: Sequence[Operation]) -> Spooled:
        """Put into a file what a session has to store.

        Raises:
            OSError: there is no place that it could be written to.
        """
        from agent_core.sessions.live.spool_codec import Coding  # noqa: PLC0415 - hardly ever

        text = json.dumps(Coding().coded_file(session_id, operations)).encode()
        try:
            path, descriptor = _written(self.places[0], session_id, text)
        except OSError:
            path, descriptor = _written(self.places[1], session_id, text)
        return Spooled(path, session_id, operations, descriptor)

    def take(self) -> Iterator[Spooled]:
        """What processes have left that are no more. A file that cannot be read is left where it is, and logged."""
        for path in self._files("*.tmp"):
            _drop_unfinished(path)
        for path in self._files("*.json"):
            try:
                if (taken := _taken(path)) is not None:
                    yield taken
            except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError) as problem:
                log.error("%s, a part of a conversation, cannot be read: %s", path, problem)  # noqa: TRY400 - it says all

    def drop(self, session_id: str) -> None:
        """A session is deleted: nothing of it stays here."""
        for path in self._files(f"{_name(session_id)}-*"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _files(self, pattern: str) -> list[Path]:
        return sorted(path for place in self.places if _is_own(place) for path in place.glob(pattern))


def _name(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_LENGTH]


def _is_own(place: Path) -> bool:
    """Whether it is a directory of this user's: others may write to the one for temporary files."""
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == own_user()


def _written(place: Path, session_id: str, text: bytes) -> tuple[Path, int]:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(place):
        raise PermissionError(f"{place} is not this user's.")
    path = place / f"{_name(session_id)}-{secrets.token_hex(4)}.json"
    unfinished = path.with_suffix(".tmp")
    descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    try:
        _is_locked(descriptor)
        left = memoryview(text)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
        unfinished.replace(path)
    except BaseException:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    return path, descriptor


def _taken(path: Path) -> Spooled | None:
    """None where its process lives, or another takes it in."""
    try:
        descriptor = os.open(path, os.O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    except FileNotFoundError:
        return None
    taken = None
    try:
        # One that was stored and removed in the moment before it was locked is not taken.
        if _is_locked(descriptor) and path.exists():
            taken = _read(path, descriptor)
    finally:
        if taken is None:
            os.close(descriptor)
    return taken


def _drop_unfinished(path: Path) -> None:
    """Remove a file that a process was writing when it was killed."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        try:
            if _is_locked(descriptor):
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Whether the lock is ours now, or nobody can have one."""
    try:
        lock(descriptor)
    except BlockingIOError:
        return False
    except OSError:  # then storing the same twice does no harm
        return True
    return True


def _read(path: Path, descriptor: int) -> Spooled:
    from agent_core.sessions.live.spool_codec import Coding  # noqa: PLC0415 - hardly ever

    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != own_user():
        raise PermissionError(f"{path} is not this user's.")
    with open(descriptor, "rb", closefd=False) as stream:
        session_id, operations = Coding().decoded_file(json.loads(stream.read()))
    return Spooled(path, session_id, operations, descriptor)
