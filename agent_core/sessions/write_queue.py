"""Storing what this process's sessions have to store, in order, and going on where that fails."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_core.compaction.engine import Compaction
from agent_core.errors import HermesError, RequestError, SessionInUse, StoreError, UnknownSession
from agent_core.messages import Message
from agent_core.sessions import leases
from agent_core.sessions.database import Database
from agent_core.sessions.housekeeping import Rhythm
from agent_core.sessions.live_session import LiveSession
from agent_core.sessions.operations import AddEvents, AddMessage, CloseTurn, CreateSession, Keep, LiveTurn, Operation
from agent_core.sessions.rows import DELETING, drop_turns_left_empty, read_bodies, read_compaction, unpack_message
from agent_core.sessions.sound import read_sound
from agent_core.sessions.spool import Spool
from agent_core.sessions.store_errors import primary_code
from tools.light_dataclass import dataclass

# Everything that waits of one session is stored in one short transaction.

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

    def save(self, live: LiveSession, *, claim: bool = False, patience: float | None = None) -> None:
        """Store the session's backlog and what its running turn's journal has; end its lease if it is leaving.

        Args:
            claim: take the lease, even if there is nothing to store.
            patience: seconds, instead of the usual.

        Raises:
            StoreError: it, or a part of it, could not be stored; the rest waits in the backlog. What can never be
                stored does not keep the rest from it: it is set aside, and told as `LiveSession.given_up`.
            LeaseLost: another process has the session now. SessionInUse: it has had it all along.
            SessionVanished: it is another file now, without the session. UnknownSession: the session was deleted.
        """
        allowed = self.patience if patience is None else patience
        while self._save_some(live, claim=claim, patience=allowed):
            pass

    def _save_some(self, live: LiveSession, *, claim: bool, patience: float) -> bool:
        """Store the first operations; whether there is more to store."""
        batch = live.backlog[:_BATCH]
        is_last = len(batch) == len(live.backlog)
        turns = _turns_to_take(batch, live.turn if is_last else None)
        for turn in turns:
            turn.take(final=turn is not live.turn)
        leaves = is_last and live.leaving
        if not (batch or claim or (leaves and live.holds) or any(turn.events for turn in turns)):
            return False
        claimed = False
        applied: Operation | None = None
        try:
            with self.database.write(patience) as connection:
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
            live.claimed()
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


# The sessions that this process works with, each behind its lock.

MOST_BYTES = 16 << 20
"""Of a session that waits to be stored: a turn whose session has more waits itself."""

_AT_ONCE, _PAUSE_AT_END = 0.2, 0.1
_LASTING = frozenset({"corrupt", "newer", "foreign"})
_BUSY = "Another program writes to the database."


@dataclass(frozen=True, slots=True)
class Unsaved:
    """What is not stored at the end of a process.

    Attributes:
        sessions: their ids.
        files: where what is missing is; fewer than sessions where it could not be put into files either.
        why: for the person; '' where all is stored.
    """

    sessions: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    why: str = ""

    @property
    def told(self) -> str:
        """For the person; '' where all is stored."""
        if not self.sessions:
            return ""
        count = len(self.sessions)
        what = f"the end of {'a conversation' if count == 1 else f'{count} conversations'} is not saved: {self.why}"
        if len(self.files) < count:
            return f"{what} Nor could it be put into a file: it is lost."
        return f"{what} It is in {', '.join(map(str, self.files))}, and is saved when hermes-acp starts next."


class LiveSessions:
    """The sessions. Also the chores that a `Housekeeper` does for them.

    Args:
        clock: monotonic seconds.
        wake: have the chores done within so many seconds.
    """

    def __init__(
        self, saver: Saver, rhythm: Rhythm, clock: Callable[[], float], wake: Callable[[float], None]
    ) -> None:
        self._saver = saver
        self._database = saver.database
        self._rhythm = rhythm
        self._clock = clock
        self._wake = wake
        self._lock = threading.Lock()
        self._live: dict[str, LiveSession] = {}
        self.spool = Spool(saver.database.path)
        self._taking_in = threading.Lock()
        self._took_in = threading.Event()

    @contextlib.contextmanager
    def entered(self, session_id: str) -> Iterator[LiveSession]:
        """The session, locked; it begins to be a live one if it was not."""
        self._take_in()
        while True:
            with self._lock:
                live = self._live.get(session_id)
                if live is None:
                    live = self._live[session_id] = LiveSession(session_id)
            with live.lock:
                if not live.gone:
                    yield live
                    return

    @contextlib.contextmanager
    def entered_if_live(self, session_id: str) -> Iterator[LiveSession | None]:
        """The session, locked; None if it is not a live one."""
        self._take_in()
        live = self._live.get(session_id)
        if live is None:
            yield None
            return
        with live.lock:
            yield None if live.gone else live

    @contextlib.contextmanager
    def running(self, session_id: str, turn_id: str) -> Iterator[tuple[LiveSession, LiveTurn] | None]:
        """The session, locked, and its running turn; None if that is another than `turn_id`."""
        with self.entered_if_live(session_id) as live:
            turn = live.turn if live is not None else None
            yield None if live is None or turn is None or turn.id != turn_id else (live, turn)

    def ids(self) -> list[str]:
        """Of all live sessions."""
        self._take_in()
        with self._lock:
            return list(self._live)

    def trouble(self, session_id: str) -> str:
        """Why the session is not being saved, '' if it is. Never waits."""
        live = self._live.get(session_id)
        return "" if live is None else live.trouble or live.given_up

    def is_full(self, session_id: str) -> bool:
        """Whether so much of the session waits that no more should be made before it is stored. Never waits."""
        live = self._live.get(session_id)
        return live is not None and live.failing_since is not None and live.waiting_bytes >= MOST_BYTES

    def store(self, live: LiveSession, operation: Operation) -> bool:
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
            patience: as in `claim`.
        """
        if live.lost:
            return False
        if live.failing_since is not None and self._clock() < live.retry_at:
            return True
        try:
            self._saver.save(live, patience=patience)
        except StoreError as problem:
            self.note(live, problem)
        except SessionInUse as problem:
            log.warning("session %s, %d messages not stored: %s", live.id, live.unsaved, problem)
            live.lose(self._database.clock(), str(problem))
            return False
        except UnknownSession:
            self.forget(live)
            return False
        else:
            self._note_no_trouble(live)
        return True

    def claim(self, live: LiveSession, patience: float | None = None) -> None:
        """Take the lease and store what waits.

        Args:
            patience: seconds that a busy database is tried; None for as long as a turn waits.

        Raises:
            UnknownSession, SessionInUse, StoreError.
        """
        try:
            self._saver.save(live, claim=True, patience=patience)
        except LeaseLost:
            live.holds = False
            live.forget_history()
            self._saver.save(live, claim=True, patience=patience)
        self._note_no_trouble(live)

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
            with contextlib.suppress(StoreError):
                self._look(live)

    def load(self, live: LiveSession) -> None:
        """Make the session's messages known if that is possible: whoever asks for them is told why not."""
        if live.messages is None and not live.unsaved:
            with contextlib.suppress(UnknownSession, StoreError):
                live.messages = self.read_live(live)

    def save_now(self, live: LiveSession, patience: float | None = None) -> bool:
        """Store what waits, even if that was tried a moment ago; whether nothing of it is left.

        Args:
            patience: seconds that a busy database is tried; None for as long as a turn waits.
        """
        if live.backlog or (live.turn is not None and live.turn.journal.is_dirty):
            live.retry_at = 0.0
            self.save(live, patience)
        return not live.backlog

    def read_live(self, live: LiveSession) -> list[Message]:
        """The session's messages as they are stored, if none waits to be; none where the session itself waits.

        Raises:
            UnknownSession, StoreError.
        """
        try:
            return self.read_messages(live.id)
        except UnknownSession:
            if live.is_unborn:
                return []
            raise

    def read_messages(self, session_id: str) -> list[Message]:
        """The session's messages as they are stored.

        Raises:
            UnknownSession: there is no such session.
            StoreError: they cannot be read.
        """
        return read_sound(self._database, session_id, lambda: self._read_messages(session_id))

    def _read_messages(self, session_id: str) -> list[Message]:
        with self._database.read() as connection:
            leases.read_holder(connection, session_id)  # tells whether there is such a session
            return [unpack_message(body) for body in read_bodies(connection, session_id)]

    def read_compaction(self, session_id: str, live: LiveSession | None) -> Compaction | None:
        """The compression in effect as it is stored; none where the session itself waits to be.

        Raises:
            UnknownSession: there is no such session.
            StoreError: it cannot be read.
        """
        if live is not None and live.is_unborn:
            return None
        with self._database.read() as connection:
            leases.read_holder(connection, session_id)  # tells whether there is such a session
            return read_compaction(connection, session_id)

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
        """Store what waits, give the lease up and forget the session. What cannot be stored keeps it.

        Args:
            patience: seconds that a busy database is tried.
        """
        live.leaving = True
        try:
            if not live.is_idle and not (live.lost and not live.backlog):
                self._saver.save(live, patience=patience)
                self._note_no_trouble(live)
        except UnknownSession as problem:
            if live.backlog:
                log.warning("what session %s has to store is not: %s", live.id, problem)
        except (SessionVanished, SessionInUse) as problem:
            # Nothing that happens in this process makes it possible.
            self.set_down(live, problem)
        except StoreError as problem:
            self.note(live, problem)
            return
        self.forget(live)

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

    def put_down(self) -> None:
        """Put what could not be stored so far into files; it is tried on."""
        for session_id in self.ids():
            with self.entered_if_live(session_id) as live:
                if live is not None and live.failing_since is not None:
                    self.set_down(live, StoreError(live.failure or _BUSY))

    def end(self, patience: float) -> Unsaved:
        """Store what waits, and give all leases up. What cannot be stored at once is put into files, and tried on.

        Args:
            patience: seconds that it is tried.
        """
        deadline, rest = time.monotonic() + patience, list(self._live.values())
        at_once = min(patience, _AT_ONCE)
        for live in rest:
            with live.lock:
                live.break_off()
                if live.failing_since is None:
                    self.leave(live, at_once)
                if live.gone:
                    continue
                at_once = 0.0
                if all(isinstance(operation, CreateSession) for operation in live.backlog):
                    self.forget(live)  # nothing was said in it, and whoever is dead holds nothing
                else:
                    self.set_down(live, StoreError(live.failure or _BUSY))
        while self._leave_all(rest, deadline) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _PAUSE_AT_END))
        return self._unsaved(rest)

    def _leave_all(self, sessions: Sequence[LiveSession], deadline: float) -> bool:
        """Try to store sessions; whether there are some that could not be."""
        for live in sessions:
            with live.lock:
                if not live.gone:
                    self.leave(live, max(0.0, deadline - time.monotonic()))
        return any(not live.gone and live.may_heal for live in sessions)

    def _unsaved(self, sessions: Sequence[LiveSession]) -> Unsaved:
        # One that another process has by now is gone, too.
        left = [live for live in sessions if live.spooled or not live.gone]
        files = [each.path for live in left for each in live.spooled]
        why = next((live.failure for live in left if live.failure), _BUSY if left else "")
        for live in left:
            with live.lock:
                self.forget(live)
        return Unsaved(tuple(live.id for live in left), tuple(files), why)

    def _take_in(self) -> None:
        """Have what earlier processes could not store wait in this one, before it does anything itself."""
        if self._took_in.is_set():
            return
        with self._taking_in:
            if self._took_in.is_set():
                return
            for spooled in self.spool.take():
                with self._lock:
                    live = self._live.setdefault(spooled.session_id, LiveSession(spooled.session_id))
                live.backlog += spooled.operations
                live.spooled.append(spooled)
                live.leaving = True
                self._wake(0.0)
            self._took_in.set()

    def drop_if_idle(self, live: LiveSession) -> None:
        """Forget the session if there is nothing to remember."""
        if live.is_idle:
            self.forget(live)

    def forget(self, live: LiveSession) -> None:
        """The session is no live one any more; its turn is refused from now on."""
        if live.turn is not None:
            live.turn.journal.close()
            live.turn = None
        live.forget_history()
        live.gone = True
        for spooled in live.spooled:
            spooled.let_go()
        with self._lock:
            if self._live.get(live.id) is live:
                del self._live[live.id]

    def save_waiting(self) -> bool:
        """Write journals of running turns, and backlogs; whether a turn runs."""
        runs = False
        for session_id in self.ids():
            with self.entered_if_live(session_id) as live:
                if live is None:
                    continue
                if live.leaving:
                    if self._clock() >= live.retry_at:
                        self.leave(live, self._rhythm.patience)
                elif live.backlog or (live.turn is not None and live.turn.journal.is_dirty):
                    self.save(live)
                runs |= live.turn is not None
        return runs

    def has_backlog(self) -> bool:
        """Whether something waits to be stored."""
        with self._lock:
            return any(live.backlog and not live.lost for live in self._live.values())

    def renew_leases(self) -> bool:
        """Renew the leases of sessions that are at work; whether there are any. Raises StoreError.

        At rest a lease holds on this machine for as long as this process lives. Where other machines may use the same
        file, those at rest are renewed, too.
        """
        beats = self._saver.identity.beats
        with self._lock:
            at_work = [live.id for live in self._live.values() if live.holds and (beats or live.turn or live.backlog)]
        if at_work:
            with self._database.write(self._rhythm.patience) as connection:
                for session_id in at_work:
                    leases.renew(connection, session_id, self._saver.identity, self._database.clock())
        return bool(at_work)

    def writes(self) -> int:
        """How often something was written."""
        return self._saver.saves

    def _look(self, live: LiveSession) -> None:
        """See whether another process has the session, where the lease could not be written.

        Raises:
            UnknownSession, SessionInUse, StoreError.
        """
        if live.holds or live.is_unborn:
            return
        with self._database.read() as connection:
            holder = leases.read_holder(connection, live.id)
        if holder is not None and holder.token != self._saver.identity.token:
            leases.refuse_living(holder, live.id, self._database.clock())

    def _note_no_trouble(self, live: LiveSession) -> None:
        if live.failing_since is not None:
            log.info("session %s is saved again", live.id)
        live.failing_since, live.trouble, live.failure = None, "", ""
        for spooled in live.spooled:
            spooled.remove()
        live.spooled = []
