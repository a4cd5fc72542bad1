"""Conversations in the database, written while the agent works; and what goes on behind their turns."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence

from agent_core.background_tasks import TaskInfo
from agent_core.compaction.engine import Compaction
from agent_core.errors import SessionInUse, StoreError, UnknownSession
from agent_core.messages import Message
from agent_core.notifications import News
from agent_core.sessions.database import Database
from agent_core.sessions.housekeeping import Housekeeper, Rhythm, Ticker
from agent_core.sessions.journal import TurnJournal
from agent_core.sessions.leases import ProcessIdentity, read_holder
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
    read_answer_left,
    read_prompts_left,
)
from agent_core.sessions.records import SUB_AGENT, KeptState, NewSession, PromptLeft
from agent_core.sessions.rows import (
    packed,
    packed_compaction,
    packed_state,
    read_news,
    read_state,
    read_tasks,
)
from agent_core.sessions.schema import may_be_shared
from agent_core.sessions.sound import read_sound
from agent_core.sessions.write_queue import LiveSessions, Saver, Unsaved

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


class SqliteSessionStore:
    """A `SessionStore` in a database that other processes share. Blocking, thread-safe.

    What is said, and what happens, is stored before it is acted on. Where that fails, it waits in its session's
    queue, in order, and is tried again. What waits at the end of the process goes into files, for the next one.

    Args:
        identity: this process; found out if left out.
        idle_jobs: what can wait until no turn writes; each does a little, and tells whether there is more.
        rhythm: when what is done.
        clock: monotonic seconds.
        background: keep a thread that does what is due; without it somebody calls `tick`.
    """

    def __init__(
        self,
        database: Database,
        identity: ProcessIdentity | None = None,
        *,
        idle_jobs: Sequence[Callable[[], bool]] = (),
        rhythm: Rhythm | None = None,
        clock: Callable[[], float] = time.monotonic,
        background: bool = True,
    ) -> None:
        self._database = database
        self._rhythm = rhythm or Rhythm()
        self.identity = identity or ProcessIdentity.current(beats=may_be_shared(database.path.parent))
        saver = Saver(database, self.identity, self._rhythm.patience)
        self._journals = Journals(database.clock)
        self._sessions = LiveSessions(saver, self._rhythm, clock, self._wake)
        self._closing = threading.Lock()
        self._left: Unsaved | None = None
        self._housekeeper = Housekeeper(self._sessions, clock, self._rhythm, database.checkpoint, idle_jobs)
        self._ticker = Ticker(self._housekeeper.tick) if background else None

    def create(self, session_id: str, cwd: str) -> None:
        """Begin a session; one that exists is left as it is.

        Where that cannot be stored, the session waits in memory. If it cannot even be seen whether it exists, its
        messages stay unknown until it can.
        """
        with contextlib.suppress(StoreError):
            if self._is_stored(session_id):
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

        Raises:
            UnknownSession: there is no such session.
            SessionInUse: another living process has it.
        """
        with self._sessions.entered(session_id) as live:
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
                self._sessions.begin(live)
            except UnknownSession:
                self._sessions.forget(live)
                self._journals.forget(session_id)
                raise
            except SessionInUse:
                self._journals.end(session_id, turn_id)
                live.turn = None
                live.backlog.remove(begin)
                self._sessions.drop_if_idle(live)
                raise
            self._sessions.load(live)
        self._wake(self._rhythm.checkpoint)

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        """Store a message, and what the turn's journal has; False when the turn is not the running one.

        Raises:
            TypeError: the message holds what is no JSON.
        """
        row = packed(message, self._database.clock())
        with self._sessions.running(session_id, turn_id) as found:
            if found is None:
                return False
            live, turn = found
            operation = AddMessage(turn, turn.messages, row)
            turn.messages += 1
            turn.visible += 1
            if live.messages is not None:
                live.messages.append(message)
            return self._sessions.store(live, operation)

    def write_journal(self, session_id: str, turn_id: str) -> None:
        """Store what the turn's journal has, with no message; nothing where the turn is not the running one."""
        with self._sessions.running(session_id, turn_id) as found:
            if found is not None:
                self._sessions.save(found[0])

    def prompts_left(self, session_id: str, turn_id: str) -> Sequence[PromptLeft]:
        """What was said since the model was told anything last, but for the running turn; oldest first.

        None where the turn is not the running one, or it cannot be read.
        """
        with self._sessions.running(session_id, turn_id) as found:
            if found is None or found[0].all_told:
                return ()
            try:
                left = read_sound(self._database, session_id, lambda: self._read_left(session_id, turn_id))
            except StoreError as problem:
                log.warning("session %s: what was said last cannot be looked for: %s", session_id, problem)
                return ()
            found[0].all_told = found[0].holds and not left
            return left

    def _read_left(self, session_id: str, turn_id: str) -> Sequence[PromptLeft]:
        with self._database.read() as connection:
            return read_prompts_left(connection, session_id, turn_id)

    def answer_left(self, session_id: str, turn_id: str) -> str:
        """The text of the answer in which the last turn of the history broke off, as far as the person has seen it.

        '' where it ended well, where nothing was seen, or where that cannot be read.
        """
        with self._sessions.running(session_id, turn_id) as found:
            if found is None:
                return ""
            try:
                with self._database.read() as connection:
                    return read_answer_left(connection, session_id, found[1].number)
            except StoreError as problem:
                log.warning("session %s: what was shown last cannot be looked for: %s", session_id, problem)
                return ""

    def tell_left(self, session_id: str, turn_id: str, left: PromptLeft, messages: Sequence[Message]) -> bool:
        """Store `messages` at the end of the history as those of the turn whose prompt was left.

        False when the turn `turn_id` is not the running one.
        """
        rows = tuple(packed(message, left.began_at) for message in messages)
        with self._sessions.running(session_id, turn_id) as found:
            if found is None:
                return False
            live, _ = found
            if live.messages is not None:
                live.messages += messages
            return self._sessions.store(live, TellLeft(left.turn, rows))

    def leave_out(self, session_id: str, turn_id: str, left: PromptLeft, why: str) -> bool:
        """The model is never told of a prompt that was left; `why` is what the person is told.

        False when the turn `turn_id` is not the running one.
        """
        with self._sessions.running(session_id, turn_id) as found:
            return found is not None and self._sessions.store(
                found[0], LeaveOut(left.turn, self._database.clock(), why)
            )

    def withdraw(self, session_id: str, turn_id: str) -> bool:
        """Leave the running turn's messages out of `messages` from now on; False when it is not the running one."""
        with self._sessions.running(session_id, turn_id) as found:
            if found is None:
                return False
            live, turn = found
            if live.messages is not None:
                del live.messages[len(live.messages) - turn.visible :]
            turn.visible = 0
            live.knows_compaction = False
            left = len(live.messages or ())
            live.backlog = [
                one for one in live.backlog if not (isinstance(one, AddCompaction) and one.messages > left)
            ]
            return self._sessions.store(live, Withdraw(turn, turn.messages))

    def compact(self, session_id: str, turn_id: str, compaction: Compaction) -> bool:
        """Store a compression of the history as it is now; False when the turn is not the running one."""
        packed = packed_compaction(compaction, self._database.clock())
        with self._sessions.running(session_id, turn_id) as found:
            if found is None:
                return False
            live, turn = found
            operation = AddCompaction(turn, turn.compactions, len(live.messages or ()), packed)
            turn.compactions += 1
            live.knows_compaction = False
            return self._sessions.store(live, operation)

    def compaction(self, session_id: str) -> Compaction | None:
        """The compression in effect; None where the model is shown the whole history.

        Raises:
            UnknownSession: there is no such session.
            StoreError: it cannot be read.
        """
        with self._sessions.entered_if_live(session_id) as live:
            waiting = [one for one in live.backlog if isinstance(one, AddCompaction)] if live else []
            if waiting:
                return waiting[-1].packed.compaction
            if live is None or not live.holds:
                return self._sessions.read_compaction(session_id, live)
            if not live.knows_compaction:
                live.compaction = self._sessions.read_compaction(session_id, live)
                live.knows_compaction = True
            return live.compaction

    def end_turn(self, session_id: str, turn_id: str, outcome: str = "", note: str = "") -> None:
        """Write the rest of the turn's journal and how it ended, and refuse what `turn_id` still tries to append."""
        self._journals.end(session_id, turn_id)
        with self._sessions.running(session_id, turn_id) as found:
            if found is not None:
                live, _ = found
                live.end_turn(self._database.clock(), outcome, note)
                self._sessions.save_now(live, _LONGER * self._rhythm.patience)

    def messages(self, session_id: str) -> list[Message]:
        """The model's history: from memory while the lease is ours or it could not be stored, else as it is stored.

        Raises:
            UnknownSession: there is no such session.
            StoreError: it cannot be read.
        """
        with self._sessions.entered_if_live(session_id) as live:
            if live is None:
                return self._sessions.read_messages(session_id)
            if live.messages is not None and (live.holds or live.backlog or live.turn):
                return list(live.messages)
            if live.unsaved:
                self._sessions.save(live)
            if live.unsaved:
                raise StoreError(
                    live.trouble or "The last messages are not stored yet. Try again in a moment.", "busy"
                )
            loaded = self._sessions.read_live(live)
            if live.holds:
                live.messages = loaded
            return list(loaded)

    def note(self, session_id: str, operation: Operation) -> None:
        """Store what happened beside the conversation, in order with it; whoever prompts the session.

        Nothing happens where there is no such session.
        """
        with self._sessions.entered(session_id) as live:
            live.backlog.append(operation)
            self._sessions.save(live)
            self._sessions.drop_if_idle(live)

    def settle(self, session_id: str) -> None:
        """Have all of a session stored that waits for it: whoever looks for it there will find it.

        Raises:
            StoreError: that is not possible now.
        """
        with self._sessions.entered_if_live(session_id) as live:
            if live is None or live.lost:
                return
            if self._sessions.save_now(live, PATIENCE):
                self._sessions.drop_if_idle(live)
                return
            raise StoreError(f"The end of this conversation is not saved yet. {live.failure} Then try again.", "busy")

    def is_full(self, session_id: str) -> bool:
        """Whether so much of a session waits to be stored that its turn should wait, too."""
        return self._sessions.is_full(session_id)

    def has_backlog(self) -> bool:
        """Whether something of any session waits to be stored."""
        return self._sessions.has_backlog()

    def take_in(self) -> None:
        """Store what earlier processes could not store before they ended, as far as that works now.

        It is known of from the first use of the store on; with this it is stored, too.
        """
        for session_id in self._sessions.ids():
            with self._sessions.entered_if_live(session_id) as live:
                if live is not None and live.leaving:
                    self._sessions.leave(live, self._rhythm.patience)

    def drop_unsaved(self, session_id: str) -> None:
        """A session is deleted: what a process could not store of it goes as well."""
        self._sessions.spool.drop(session_id)

    def keep(self, session_id: str, state: KeptState) -> None:
        """Remember what the session keeps between its turns.

        Nothing happens where the session is gone, or another process's now.
        """
        operation = Keep(packed_state(state))
        with self._sessions.entered(session_id) as live:
            live.backlog = [one for one in live.backlog if not isinstance(one, Keep)]
            self._sessions.store(live, operation)
            self._sessions.drop_if_idle(live)

    def kept(self, session_id: str) -> KeptState | None:
        """What was last kept; None if nothing was.

        Raises:
            UnknownSession: there is no such session.
            StoreError: it cannot be read.
        """
        with self._sessions.entered_if_live(session_id) as live:
            waiting = [one for one in live.backlog if isinstance(one, Keep)] if live else []
            if waiting:
                return waiting[-1].packed.state
        return read_sound(self._database, session_id, lambda: self._read_kept(session_id))

    def _read_kept(self, session_id: str) -> KeptState | None:
        with self._database.read() as connection:
            return read_state(connection, session_id)

    def take_damage(self, session_id: str) -> str:
        """What of the session was damaged and set aside, and was not told yet, for the person; '' for nothing."""
        return "\n".join(self._database.set_aside.pop(session_id, ()))

    def trouble(self, session_id: str) -> str:
        """Why the session is not being saved at the moment; '' if it is. Never waits."""
        return self._sessions.trouble(session_id)

    def take_lease(self, session_id: str, patience: float | None = None) -> None:
        """Hold the session for this process, as `begin_turn` does.

        Args:
            patience: seconds that a busy database is tried; None for as long as a turn waits, which goes on without.

        Raises:
            UnknownSession: there is no such session.
            SessionInUse: another living process has it.
            StoreError: it cannot be stored.
        """
        with self._sessions.entered(session_id) as live:
            live.leaving = False
            try:
                self._sessions.claim(live, patience)
            finally:
                self._sessions.drop_if_idle(live)
        self._wake(self._rhythm.heartbeat)

    def reload(self, session_id: str) -> None:
        """Forget the cached messages, between turns: someone changed them in the database."""
        with self._sessions.entered_if_live(session_id) as live:
            if live is None:
                return
            self._sessions.save(live)
            if not live.unsaved:
                live.forget_history()

    def release(self, session_id: str) -> None:
        """Let go of a session. What could not be stored yet keeps it in memory, and its lease, until it is."""
        self._journals.forget(session_id)
        with self._sessions.entered_if_live(session_id) as live:
            if live is None:
                return
            live.end_turn(self._database.clock())
            self._sessions.leave(live, PATIENCE)

    def put_down(self) -> None:
        """The process is about to end: what could not be stored so far is put into files at once."""
        self._sessions.put_down()

    def close(self) -> Unsaved:
        """Store what is left, give up all leases, and end the thread. A turn that still runs counts as broken off.

        What cannot be stored at once goes into files first, and is tried until `Rhythm.at_end` is over.

        Returns:
            what is not stored all the same. Whoever calls it again, from whatever thread, waits for the same.
        """
        with self._closing:
            if self._left is None:
                if self._ticker is not None:
                    self._ticker.stop()
                self._left = self._sessions.end(self._rhythm.at_end)
                if self._ticker is not None and not self._left.sessions:  # else it may wait for the same as we did
                    self._ticker.close()
            return self._left

    def tick(self) -> float | None:
        """Do what is due now; seconds until something is again, None: not before something is written."""
        return self._housekeeper.tick()

    def _create(self, new: NewSession, *, is_new: bool) -> None:
        with self._sessions.entered(new.id) as live:
            if any(isinstance(operation, CreateSession) for operation in live.backlog):
                return
            live.leaving = False
            live.backlog.insert(0, CreateSession(new, self._database.clock()))
            if is_new or not self._database.path.exists():
                live.begin_empty()
            self._sessions.save(live)
            self._sessions.drop_if_idle(live)

    def _is_stored(self, session_id: str) -> bool:
        with contextlib.suppress(UnknownSession), self._database.read() as connection:
            read_holder(connection, session_id)
            return True
        return False

    def _wake(self, within: float) -> None:
        if self._ticker is not None:
            self._ticker.wake(within)


# What goes on behind the turns of sessions, stored in order with what the turns store.


class KeptBackground:
    """News that are not delivered, and tasks. Blocking, thread-safe."""

    def __init__(self, database: Database, store: SqliteSessionStore) -> None:
        self._database = database
        self._store = store

    def keep_news(self, session_id: str, news: News) -> None:
        """Store one, until a message that tells of it is stored."""
        self._store.note(session_id, KeepNews(news))

    def drop_news(self, session_id: str, news: Sequence[News]) -> None:
        """Forget some that need no message any more."""
        self._store.note(session_id, DropNews(tuple(each.id for each in news)))

    def keep_task(self, session_id: str, task: TaskInfo) -> None:
        """Store a task as it is now."""
        self._store.note(session_id, KeepTask(task))

    def news(self, session_id: str) -> list[News]:
        """What was not delivered, oldest first.

        Raises:
            StoreError: it cannot be read.
        """
        with self._database.read() as connection:
            return read_news(connection, session_id)

    def tasks(self, session_id: str) -> list[TaskInfo]:
        """The tasks as they were stored, oldest first.

        Raises:
            StoreError: they cannot be read.
        """
        with self._database.read() as connection:
            return read_tasks(connection, session_id)
