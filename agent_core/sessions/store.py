"""Conversations in the database, written while the agent works; and what goes on behind their turns."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agent_core.background_tasks import News, TaskInfo
from agent_core.compaction.engine import Compaction
from agent_core.errors import SessionInUse, StoreError, UnknownSession
from agent_core.messages import Message
from agent_core.sessions.database import Database
from agent_core.sessions.housekeeping import Housekeeper, Job, Rhythm
from agent_core.sessions.journal import TurnJournal
from agent_core.sessions.leases import read_holder, renew, this_process
from agent_core.sessions.operations import (
    AddCompaction,
    AddMessage,
    BeginTurn,
    CreateSession,
    DropNews,
    Keep,
    KeepNews,
    KeepTask,
    LeaveOut,
    LiveTurn,
    Operation,
    TellLeft,
    Withdraw,
)
from agent_core.sessions.records import SUB_AGENT, Holder, KeptState, NewSession, PromptLeft
from agent_core.sessions.rows import (
    packed,
    packed_compaction,
    packed_state,
    read_answer_left,
    read_bodies,
    read_compaction,
    read_news,
    read_prompts_left,
    read_state,
    read_tasks,
    unpack_message,
)
from agent_core.sessions.schema import may_be_shared
from agent_core.sessions.sound import read_sound
from agent_core.sessions.write_queue import BUSY, LiveSession, WriteQueue
from tools.light_dataclass import dataclass

# The journals of turns that run or are about to: whoever asks for one never waits for the database.


class Journals:
    """One journal for each turn. Thread-safe.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, dict[str, TurnJournal]] = {}
        self._ended: dict[str, str] = {}

    def get(self, session_id: str, turn_id: str) -> TurnJournal:
        """The journal of a turn; a closed one for the turn of the session that ended last."""
        with self._lock:
            if self._ended.get(session_id) == turn_id:
                closed = TurnJournal(self._clock)
                closed.close()
                return closed
            turns = self._running.setdefault(session_id, {})
            if turn_id not in turns:
                turns[turn_id] = TurnJournal(self._clock)
            return turns[turn_id]

    def end(self, session_id: str, turn_id: str) -> None:
        """The turn is over, if it ever began: its journal takes nothing more, and is kept by nobody here."""
        with self._lock:
            journal = self._running.get(session_id, {}).pop(turn_id, None)
            if journal is not None:
                journal.close()
                self._ended[session_id] = turn_id

    def forget(self, session_id: str) -> None:
        """Close the session's journals, and forget them."""
        with self._lock:
            self._ended.pop(session_id, None)
            for journal in self._running.pop(session_id, {}).values():
                journal.close()


log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that somebody waits for a busy database who cannot go on without it, as when a session is let go of with
something unsaved."""

_LONGER = 4
"""How many times as long as a turn's messages its end waits for a busy database: the person may go then."""

_AT_ONCE, _PAUSE_AT_END = 0.2, 0.1


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


class SessionStore:
    """Keeps each session's messages in order, in a database that other processes share. Blocking, thread-safe.

    One turn at a time may write to a session. A turn that was replaced or ended (its worker may still run) is
    refused, so that nothing of it reaches the history afterwards: methods that take its id return False or nothing.

    What is said, and what happens, is stored before it is acted on. Where that fails, the conversation goes on in
    memory, `trouble` says so, and what waits in the session's queue, in order, is tried again. What waits at the end
    of the process goes into files, for the next one.

    Args:
        identity: this process; found out if left out.
        idle_jobs: what can wait until no turn writes.
        rhythm: when what is done.
        clock: monotonic seconds.
        background: keep a thread that does what is due; without it somebody calls `tick`.

    Attributes:
        tick: does what is due now; seconds until something is again, None: not before something is written.
    """

    def __init__(
        self,
        database: Database,
        identity: Holder | None = None,
        *,
        idle_jobs: Sequence[Job] = (),
        rhythm: Rhythm | None = None,
        clock: Callable[[], float] = time.monotonic,
        background: bool = True,
    ) -> None:
        self._database = database
        self._rhythm = rhythm or Rhythm()
        self._clock = clock
        self.identity = identity or this_process(beats=may_be_shared(database.path.parent))
        self._journals = Journals(database.clock)
        self._queue = WriteQueue(database, self.identity, self._rhythm, clock, self._wake)
        self._lock = threading.Lock()
        self._live: dict[str, LiveSession] = {}
        self._taking_in = threading.Lock()
        self._took_in = threading.Event()
        self._closing = threading.Lock()
        self._left: Unsaved | None = None
        self._renew_at = 0.0
        self._housekeeper = Housekeeper(
            (self._save_waiting, self._renew_leases),
            lambda: self._queue.writes,
            clock,
            self._rhythm,
            (database.checkpoint, *idle_jobs),
            background=background,
        )
        self.tick = self._housekeeper.tick

    def create(self, session_id: str, cwd: str) -> None:
        """Begin a session; one that exists is left as it is.

        Where that cannot be stored, the session waits in memory. If it cannot even be seen whether it exists, its
        messages stay unknown until it can.
        """
        with contextlib.suppress(StoreError, UnknownSession), self._database.read() as connection:
            read_holder(connection, session_id)
            return
        self._create(NewSession(session_id, cwd, source="library"), is_new=False)

    def create_new(self, new: NewSession) -> None:
        """Begin a session that never was before: where it cannot be stored, it begins in memory, empty."""
        self._create(new, is_new=True)

    def create_child(self, session_id: str, parent_id: str, cwd: str) -> None:
        """Begin the session of a sub-agent, which is in no list."""
        self._create(NewSession(session_id, cwd, source=SUB_AGENT, parent_id=parent_id), is_new=True)

    def journal(self, session_id: str, turn_id: str) -> TurnJournal:
        """The journal of a turn, which may not have begun yet. Never waits."""
        return self._journals.get(session_id, turn_id)

    def begin_turn(self, session_id: str, turn_id: str) -> None:
        """From now on only `turn_id` may append; the session's lease is ours. One that runs goes on.

        Where it cannot be stored, the turn begins in memory.
        """
        with self._entered(session_id) as live:
            now = self._database.clock()
            live.leaving = False
            if live.turn is not None and live.turn.id == turn_id:
                return
            if live.turn is not None:
                self._journals.end(session_id, live.turn.id)
                live.end_turn(now)
            begin = BeginTurn(LiveTurn(turn_id, session_id, self._journals.get(session_id, turn_id), now))
            live.turn = begin.turn
            live.backlog.append(begin)
            try:
                self._queue.begin(live)
            except UnknownSession:
                live.go()
                self._journals.forget(session_id)
                raise
            except SessionInUse:
                self._journals.end(session_id, turn_id)
                live.turn = None
                live.backlog.remove(begin)
                raise
            if live.messages is None and not live.unsaved:
                with contextlib.suppress(UnknownSession, StoreError):  # whoever asks for them is told why not
                    live.messages = self._read_live(live)
        self._wake(self._rhythm.checkpoint)

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        """Store a message, and what the turn's journal has. Raises TypeError where it holds what is no JSON."""
        row = packed(message, self._database.clock())
        with self._running(session_id, turn_id) as found:
            if found is None:
                return False
            live, turn = found
            operation = AddMessage(turn, turn.messages, row)
            turn.messages += 1
            turn.visible += 1
            if live.messages is not None:
                live.messages.append(message)
            return self._queue.add(live, operation)

    def write_journal(self, session_id: str, turn_id: str) -> None:
        """Store what the turn's journal has, with no message."""
        with self._running(session_id, turn_id) as found:
            if found is not None:
                self._queue.save(found[0])

    def prompts_left(self, session_id: str, turn_id: str) -> Sequence[PromptLeft]:
        """What was said since the model was told anything last, but for the running turn; oldest first."""

        def read() -> Sequence[PromptLeft]:
            with self._database.read() as connection:
                return read_prompts_left(connection, session_id, turn_id)

        with self._running(session_id, turn_id) as found:
            if found is None or found[0].unsaved:  # what waits may be its telling
                return ()
            try:
                return read_sound(self._database, session_id, read)
            except StoreError as problem:
                log.warning("session %s: what was said last cannot be looked for: %s", session_id, problem)
                return ()

    def answer_left(self, session_id: str, turn_id: str) -> str:
        """The text of the answer in which the last turn of the history broke off, as far as it was seen."""
        with self._running(session_id, turn_id) as found:
            if found is not None:
                try:
                    with self._database.read() as connection:
                        return read_answer_left(connection, session_id, found[1].number)
                except StoreError as problem:
                    log.warning("session %s: what was shown last cannot be looked for: %s", session_id, problem)
        return ""

    def tell_left(self, session_id: str, turn_id: str, left: PromptLeft, messages: Sequence[Message]) -> bool:
        """Store `messages` at the end of the history as those of the turn whose prompt was left."""
        rows = tuple(packed(message, left.began_at) for message in messages)
        with self._running(session_id, turn_id) as found:
            if found is None:
                return False
            live, _ = found
            if live.messages is not None:
                live.messages += messages
            return self._queue.add(live, TellLeft(left.turn, rows))

    def leave_out(self, session_id: str, turn_id: str, left: PromptLeft, why: str) -> bool:
        """The model is never told of a prompt that was left; `why` is what the person is told."""
        with self._running(session_id, turn_id) as found:
            return found is not None and self._queue.add(found[0], LeaveOut(left.turn, self._database.clock(), why))

    def withdraw(self, session_id: str, turn_id: str) -> bool:
        """Leave the running turn's messages out of `messages` from now on."""
        with self._running(session_id, turn_id) as found:
            if found is None:
                return False
            live, turn = found
            if live.messages is not None:
                del live.messages[len(live.messages) - turn.visible :]
            turn.visible = 0
            left = len(live.messages or ())
            live.backlog = [
                one for one in live.backlog if not (isinstance(one, AddCompaction) and one.messages > left)
            ]
            return self._queue.add(live, Withdraw(turn, turn.messages))

    def compact(self, session_id: str, turn_id: str, compaction: Compaction) -> bool:
        """Store a compression of the history as it is now."""
        packed = packed_compaction(compaction, self._database.clock())
        with self._running(session_id, turn_id) as found:
            if found is None:
                return False
            live, turn = found
            operation = AddCompaction(turn, turn.compactions, len(live.messages or ()), packed)
            turn.compactions += 1
            return self._queue.add(live, operation)

    def compaction(self, session_id: str) -> Compaction | None:
        """The compression in effect; None where the model is shown the whole history."""
        with self._entered_if_live(session_id) as live:
            waiting = [one for one in live.backlog if isinstance(one, AddCompaction)] if live else []
            if waiting:
                return waiting[-1].packed.compaction
            if live is not None and live.is_unborn:
                return None
            with self._database.read() as connection:
                read_holder(connection, session_id)  # tells whether there is such a session
                return read_compaction(connection, session_id)

    def end_turn(self, session_id: str, turn_id: str, outcome: str = "", note: str = "") -> None:
        """Write the rest of the turn's journal and how it ended, and refuse what `turn_id` still tries to append."""
        self._journals.end(session_id, turn_id)
        with self._running(session_id, turn_id) as found:
            if found is not None:
                live, _ = found
                live.end_turn(self._database.clock(), outcome, note)
                self._queue.save_now(live, _LONGER * self._rhythm.patience)

    def messages(self, session_id: str) -> list[Message]:
        """The model's history: from memory while the lease is ours or it could not be stored, else as stored."""
        with self._entered_if_live(session_id) as live:
            if live is None:
                return self._read_messages(session_id)
            if live.messages is not None and (live.holds or live.backlog or live.turn):
                return list(live.messages)
            if live.unsaved:
                self._queue.save(live)
            if live.unsaved:
                raise StoreError(
                    live.trouble or "The last messages are not stored yet. Try again in a moment.", "busy"
                )
            loaded = self._read_live(live)
            if live.holds:
                live.messages = loaded
            return list(loaded)

    def note(self, session_id: str, operation: Operation) -> None:
        """Store what happened beside the conversation, in order with it; whoever prompts the session.

        Nothing happens where there is no such session.
        """
        with self._entered(session_id) as live:
            live.backlog.append(operation)
            self._queue.save(live)

    def keep_news(self, session_id: str, news: News) -> None:
        """Store news of the background, until a message that tells of them is stored."""
        self.note(session_id, KeepNews(news))

    def drop_news(self, session_id: str, news: Sequence[News]) -> None:
        """Forget some that need no message any more."""
        self.note(session_id, DropNews(tuple(each.id for each in news)))

    def keep_task(self, session_id: str, task: TaskInfo) -> None:
        """Store a task of the background as it is now."""
        self.note(session_id, KeepTask(task))

    def news(self, session_id: str) -> list[News]:
        """The news that were not delivered, oldest first. Raises StoreError."""
        with self._database.read() as connection:
            return read_news(connection, session_id)

    def tasks(self, session_id: str) -> list[TaskInfo]:
        """The tasks as they were stored, oldest first. Raises StoreError."""
        with self._database.read() as connection:
            return read_tasks(connection, session_id)

    def settle(self, session_id: str) -> None:
        """Have all of a session stored that waits for it; a StoreError tells that this is not possible now."""
        with self._entered_if_live(session_id) as live:
            if live is not None and not live.lost and not self._queue.save_now(live, PATIENCE):
                told = f"The end of this conversation is not saved yet. {live.failure} Then try again."
                raise StoreError(told, "busy")

    def has_backlog(self) -> bool:
        """Whether something of any session waits to be stored."""
        with self._lock:
            return any(live.backlog and not live.lost for live in self._live.values())

    def take_in(self) -> None:
        """Store what earlier processes could not store before they ended, as far as that works now.

        It is known of from the first use of the store on; with this it is stored, too.
        """
        for live in self._each():
            if live.leaving:
                self._queue.leave(live, self._rhythm.patience)

    def drop_unsaved(self, session_id: str) -> None:
        """A session is deleted: what a process could not store of it goes as well."""
        self._queue.spool.drop(session_id)

    def keep(self, session_id: str, state: KeptState) -> None:
        """Remember what the session keeps between its turns; nothing where it is gone, or another process's now."""
        operation = Keep(packed_state(state))
        with self._entered(session_id) as live:
            live.backlog = [one for one in live.backlog if not isinstance(one, Keep)]
            self._queue.add(live, operation)

    def kept(self, session_id: str) -> KeptState | None:
        """What was last kept; None if nothing was."""

        def read() -> KeptState | None:
            with self._database.read() as connection:
                return read_state(connection, session_id)

        with self._entered_if_live(session_id) as live:
            waiting = [one for one in live.backlog if isinstance(one, Keep)] if live else []
            if waiting:
                return waiting[-1].packed.state
        return read_sound(self._database, session_id, read)

    def take_damage(self, session_id: str) -> str:
        """What of the session was damaged and set aside, and was not told yet, for the person; '' for nothing."""
        return "\n".join(self._database.set_aside.pop(session_id, ()))

    def trouble(self, session_id: str) -> str:
        """Why the session is not being saved at the moment; '' if it is. Never waits."""
        live = self._live.get(session_id)
        return "" if live is None else live.trouble or live.given_up

    def take_lease(self, session_id: str, patience: float | None = None) -> None:
        """Hold the session for this process, as `begin_turn` does.

        Args:
            patience: seconds that a busy database is tried; None for as long as a turn waits, which goes on without.

        Raises:
            UnknownSession: there is no such session.
            SessionInUse: another living process has it.
            StoreError: it cannot be stored.
        """
        with self._entered(session_id) as live:
            live.leaving = False
            self._queue.claim(live, patience)
        self._wake(self._rhythm.heartbeat)

    def reload(self, session_id: str) -> None:
        """Forget the cached messages, between turns: someone changed them in the database."""
        with self._entered_if_live(session_id) as live:
            if live is None:
                return
            self._queue.save(live)
            if not live.unsaved:
                live.messages = None

    def release(self, session_id: str) -> None:
        """Let go of a session. What could not be stored yet keeps it in memory, and its lease, until it is."""
        self._journals.forget(session_id)
        with self._entered_if_live(session_id) as live:
            if live is not None:
                live.end_turn(self._database.clock())
                self._queue.leave(live, PATIENCE)

    def put_down(self) -> None:
        """The process is about to end: what could not be stored so far is put into files at once; it is tried on."""
        for live in self._each():
            if live.failing_since is not None:
                self._queue.set_down(live, StoreError(live.failure or BUSY))

    def close(self) -> Unsaved:
        """Store what is left, give up all leases, and end the thread. A turn that still runs counts as broken off.

        What cannot be stored at once goes into files first, and is tried until `Rhythm.at_end` is over.

        Returns:
            what is not stored all the same. Whoever calls it again, from whatever thread, waits for the same.
        """
        with self._closing:
            if self._left is None:
                self._housekeeper.stop()
                self._left = self._end()
                if not self._left.sessions:  # else it may wait for the same as we did
                    self._housekeeper.join()
            return self._left

    # The sessions that this process works with, each behind its lock.

    @contextlib.contextmanager
    def _entered(self, session_id: str) -> Iterator[LiveSession]:
        """The session, locked; it begins to be a live one if it was not."""
        self._take_in()
        while True:
            with self._lock:
                live = self._live.setdefault(session_id, LiveSession(session_id))
            with self._held(live) as held:
                if held is not None:
                    yield held
                    return

    @contextlib.contextmanager
    def _entered_if_live(self, session_id: str) -> Iterator[LiveSession | None]:
        """The session, locked; None if it is not a live one."""
        self._take_in()
        live = self._live.get(session_id)
        if live is None:
            yield None
            return
        with self._held(live) as held:
            yield held

    @contextlib.contextmanager
    def _running(self, session_id: str, turn_id: str) -> Iterator[tuple[LiveSession, LiveTurn] | None]:
        """The session, locked, and its running turn; None if that is another than `turn_id`."""
        with self._entered_if_live(session_id) as live:
            turn = live.turn if live is not None else None
            yield None if live is None or turn is None or turn.id != turn_id else (live, turn)

    @contextlib.contextmanager
    def _held(self, live: LiveSession) -> Iterator[LiveSession | None]:
        """A session with its lock; None if it is gone. It is forgotten where it went, or has nothing to remember."""
        with live.lock:
            try:
                yield None if live.gone else live
            finally:
                if live.is_idle:
                    live.go()
                if live.gone:
                    with self._lock:
                        if self._live.get(live.id) is live:
                            del self._live[live.id]

    def _each(self) -> Iterator[LiveSession]:
        """Each live session, locked."""
        self._take_in()
        with self._lock:
            ids = list(self._live)
        for session_id in ids:
            with self._entered_if_live(session_id) as live:
                if live is not None:
                    yield live

    def _create(self, new: NewSession, *, is_new: bool) -> None:
        with self._entered(new.id) as live:
            if live.is_unborn:
                return
            live.leaving = False
            live.backlog.insert(0, CreateSession(new, self._database.clock()))
            if is_new or not self._database.path.exists():
                live.messages = []
            self._queue.save(live)

    def _read_live(self, live: LiveSession) -> list[Message]:
        """The session's messages as they are stored, if none waits to be; none where the session itself waits."""
        try:
            return self._read_messages(live.id)
        except UnknownSession:
            if live.is_unborn:
                return []
            raise

    def _read_messages(self, session_id: str) -> list[Message]:
        def read() -> list[Message]:
            with self._database.read() as connection:
                read_holder(connection, session_id)  # tells whether there is such a session
                return [unpack_message(body) for body in read_bodies(connection, session_id)]

        return read_sound(self._database, session_id, read)

    def _take_in(self) -> None:
        """Have what earlier processes could not store wait in this one, before it does anything itself."""
        if self._took_in.is_set():
            return
        with self._taking_in:
            if self._took_in.is_set():
                return
            for spooled, session_id, operations in self._queue.spool.take():
                with self._lock:
                    live = self._live.setdefault(session_id, LiveSession(session_id))
                live.backlog += operations
                live.spooled.append(spooled)
                live.leaving = True
                self._wake(0.0)
            self._took_in.set()

    def _save_waiting(self) -> float | None:
        """Write journals of running turns, and backlogs that are due."""
        runs = False
        for live in self._each():
            if live.leaving:
                if self._clock() >= live.retry_at:
                    self._queue.leave(live, self._rhythm.patience)
            elif live.has_to_write:
                self._queue.save(live)
            runs |= live.turn is not None
        if runs:
            return self._rhythm.checkpoint
        return self._rhythm.backlog if self.has_backlog() else None

    def _renew_leases(self) -> float | None:
        """Renew the leases of sessions that are at work. Raises StoreError.

        At rest a lease holds on this machine for as long as this process lives. Where other machines may use the same
        file, those at rest are renewed, too.
        """
        now = self._clock()
        if now < self._renew_at:
            return self._renew_at - now
        beats = self.identity.beats
        with self._lock:
            at_work = [live.id for live in self._live.values() if live.holds and (beats or live.turn or live.backlog)]
        if not at_work:
            return None
        with self._database.write(self._rhythm.patience) as connection:
            for session_id in at_work:
                renew(connection, session_id, self.identity, self._database.clock())
        self._renew_at = now + self._rhythm.heartbeat
        return self._rhythm.heartbeat

    def _end(self) -> Unsaved:
        """Store what waits, and give all leases up. What cannot be stored at once is put into files, and tried on."""
        patience = self._rhythm.at_end
        deadline, rest = time.monotonic() + patience, list(self._live.values())
        at_once = min(patience, _AT_ONCE)
        for live in rest:
            with self._held(live):
                live.break_off()
                if live.failing_since is None:
                    self._queue.leave(live, at_once)
                if live.gone:
                    continue
                at_once = 0.0
                if all(isinstance(operation, CreateSession) for operation in live.backlog):
                    live.go()  # nothing was said in it, and whoever is dead holds nothing
                else:
                    self._queue.set_down(live, StoreError(live.failure or BUSY))
        while self._leave_all(rest, deadline) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _PAUSE_AT_END))
        # One that another process has by now is gone, too.
        unsaved = [live for live in rest if live.spooled or not live.gone]
        files = [each.path for live in unsaved for each in live.spooled]
        why = next((live.failure for live in unsaved if live.failure), BUSY if unsaved else "")
        for live in unsaved:
            with self._held(live):
                live.go()
        return Unsaved(tuple(live.id for live in unsaved), tuple(files), why)

    def _leave_all(self, sessions: Sequence[LiveSession], deadline: float) -> bool:
        """Try to store sessions; whether there are some that could not be."""
        for live in sessions:
            with self._held(live) as held:
                if held is not None:
                    self._queue.leave(live, max(0.0, deadline - time.monotonic()))
        return any(not live.gone and live.may_heal for live in sessions)

    def _wake(self, within: float) -> None:
        self._housekeeper.wake(within)
