"""The port to wherever conversations are kept, as the agent uses it, and a store in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from agent_core.compaction.engine import Compaction
from agent_core.errors import UnknownSession
from agent_core.events import SessionEvent
from agent_core.messages import Message
from agent_core.sessions.records import KeptState, PromptLeft
from tools.light_dataclass import dataclass


class Journal(Protocol):
    """Takes down what happens in one turn. Safe to use from several threads."""

    def record(self, event: SessionEvent) -> bool:
        """Add an event; it is written with the turn's next message, or within a second. Never waits, never fails.

        Returns:
            False where the turn is over: nothing was added.
        """
        ...


class SessionStore(Protocol):
    """Keeps each session's messages in order. Safe to use from several threads.

    One turn at a time may write to a session. A turn that was replaced or ended (its worker may still run) is
    refused, so that nothing of it reaches the history afterwards.

    Where storing fails, the conversation goes on in memory, `trouble` says so, and what is not stored yet is tried
    again with the next message.
    """

    def create(self, session_id: str, cwd: str) -> None:
        """Begin a session that works in `cwd`; one that exists is left as it is."""
        ...

    def create_child(self, session_id: str, parent_id: str, cwd: str) -> None:
        """Begin the session of a sub-agent of `parent_id` that works in `cwd`."""
        ...

    def journal(self, session_id: str, turn_id: str) -> Journal:
        """The journal of a turn, which may not have begun yet. After the turn's end it takes nothing any more."""
        ...

    def begin_turn(self, session_id: str, turn_id: str) -> None:
        """From now on only `turn_id` may append. A turn that runs already goes on.

        Raises:
            UnknownSession: there is no such session.
            SessionInUse: another living process prompts it.
        """
        ...

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        """Store a message, and what the turn's journal has, before it is acted on.

        False when the turn is not the running one.
        """
        ...

    def write_journal(self, session_id: str, turn_id: str) -> None:
        """Store what the turn's journal has, with no message; nothing where the turn is not the running one."""
        ...

    def prompts_left(self, session_id: str, turn_id: str) -> Sequence[PromptLeft]:
        """What was said since the model was told anything last, but for the running turn; oldest first.

        None where the turn is not the running one, or it cannot be read: then they stay left.
        """
        ...

    def answer_left(self, session_id: str, turn_id: str) -> str:
        """The text of the answer in which the last turn of the history broke off, as far as the person has seen it.

        '' where it ended well, where nothing was seen, or where that is not known.

        Args:
            turn_id: of the turn that runs.
        """
        ...

    def tell_left(self, session_id: str, turn_id: str, left: PromptLeft, messages: Sequence[Message]) -> bool:
        """Store `messages` at the end of the history as those of the turn whose prompt was left.

        Called before the running turn has messages of its own. False when it is not the running one.
        """
        ...

    def leave_out(self, session_id: str, turn_id: str, left: PromptLeft, why: str) -> bool:
        """The model is never told of a prompt that was left: its turn has failed.

        False when the turn `turn_id` is not the running one.

        Args:
            why: what the person is told.
        """
        ...

    def withdraw(self, session_id: str, turn_id: str) -> bool:
        """Leave the running turn's messages out of `messages` from now on; they stay stored.

        False when the turn is not the running one.
        """
        ...

    def end_turn(self, session_id: str, turn_id: str, outcome: str = "", note: str = "") -> None:
        """Write the rest of the turn's journal, and refuse whatever `turn_id` still tries to append.

        Args:
            outcome: the stop reason, «error», or as in `sessions.records`; '' for a turn that was given up.
            note: for an error, what the person was told.
        """
        ...

    def messages(self, session_id: str) -> list[Message]:
        """The session's messages since the model began anew, without withdrawn and undone ones; a list of one's own.

        Raises:
            UnknownSession: there is no such session.
            StoreError: they cannot be read.
        """
        ...

    def compact(self, session_id: str, turn_id: str, compaction: Compaction) -> bool:
        """Store a compression that the running turn has made over the history as it is now, before it is used.

        False when the turn is not the running one.
        """
        ...

    def compaction(self, session_id: str) -> Compaction | None:
        """The compression in effect: the newest whose turn is in view and whose messages are all in `messages` still.

        None where the model is shown the whole history.

        Raises:
            UnknownSession: there is no such session.
            StoreError: it cannot be read.
        """
        ...

    def keep(self, session_id: str, state: KeptState) -> None:
        """Remember what the session keeps between its turns, for a later process."""
        ...

    def kept(self, session_id: str) -> KeptState | None:
        """What was last kept; None if nothing was.

        Raises:
            UnknownSession: there is no such session.
            StoreError: it cannot be read.
        """
        ...

    def take_damage(self, session_id: str) -> str:
        """What of the session was damaged where it is stored and has been set aside, for the person; '' for nothing.

        It is told once.
        """
        ...

    def trouble(self, session_id: str) -> str:
        """Why the session is not being saved at the moment, for the person; '' if it is."""
        ...

    def is_full(self, session_id: str) -> bool:
        """Whether so much of a session waits to be stored that its turn should wait, too. Never waits itself."""
        ...

    def release(self, session_id: str) -> None:
        """Let go of a session: its memory is freed, another process may prompt it. Unknown ids are ignored."""
        ...


# Conversations in memory: gone with the process.


@dataclass(slots=True)
class _Record:
    cwd: str
    messages: list[Message] = field(default_factory=list)
    turn_id: str | None = None
    turn_start: int = 0
    withdrawn: list[Message] = field(default_factory=list)
    kept: KeptState | None = None
    compactions: list[tuple[int, Compaction]] = field(default_factory=list)


class NoJournal:
    """Takes nothing down."""

    def record(self, event: SessionEvent) -> bool:  # noqa: ARG002 - the port has it
        """Do nothing."""
        return True


class InMemorySessionStore:
    """A `SessionStore` without a file."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}
        self._lock = threading.Lock()

    def create(self, session_id: str, cwd: str) -> None:
        """Begin a session; one that exists is left as it is."""
        with self._lock:
            self._records.setdefault(session_id, _Record(cwd))

    def create_child(self, session_id: str, parent_id: str, cwd: str) -> None:  # noqa: ARG002 - nothing is listed here
        """Begin the session of a sub-agent."""
        self.create(session_id, cwd)

    def journal(self, session_id: str, turn_id: str) -> NoJournal:  # noqa: ARG002
        """Events are not kept in memory."""
        return NoJournal()

    def begin_turn(self, session_id: str, turn_id: str) -> None:
        """From now on only `turn_id` may append."""
        with self._lock:
            record = self._record(session_id)
            record.turn_id, record.turn_start = turn_id, len(record.messages)

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        """Store a message of the running turn."""
        with self._lock:
            record = self._records.get(session_id)
            if record is None or record.turn_id != turn_id:
                return False
            record.messages.append(message)
            return True

    def write_journal(self, session_id: str, turn_id: str) -> None:
        """Nothing is taken down in memory."""

    def prompts_left(self, session_id: str, turn_id: str) -> Sequence[PromptLeft]:  # noqa: ARG002
        """None: what was said is with the model's messages or nowhere."""
        return ()

    def answer_left(self, session_id: str, turn_id: str) -> str:  # noqa: ARG002
        """What was shown is not kept in memory."""
        return ""

    def tell_left(self, session_id: str, turn_id: str, left: PromptLeft, messages: Sequence[Message]) -> bool:  # noqa: ARG002
        """Store messages in front of the running turn's."""
        with self._lock:
            record = self._records.get(session_id)
            if record is None or record.turn_id != turn_id:
                return False
            record.messages += messages
            record.turn_start = len(record.messages)
            return True

    def leave_out(self, session_id: str, turn_id: str, left: PromptLeft, why: str) -> bool:  # noqa: ARG002
        """Nothing: it is in no history."""
        with self._lock:
            record = self._records.get(session_id)
            return record is not None and record.turn_id == turn_id

    def withdraw(self, session_id: str, turn_id: str) -> bool:
        """Leave the running turn's messages out from now on."""
        with self._lock:
            record = self._records.get(session_id)
            if record is None or record.turn_id != turn_id:
                return False
            record.withdrawn += record.messages[record.turn_start :]
            del record.messages[record.turn_start :]
            record.compactions = [made for made in record.compactions if made[0] <= record.turn_start]
            return True

    def withdrawn(self, session_id: str) -> list[Message]:
        """What was left out."""
        with self._lock:
            return list(self._record(session_id).withdrawn)

    def end_turn(self, session_id: str, turn_id: str, outcome: str = "", note: str = "") -> None:  # noqa: ARG002
        """Close the turn, if it is still the running one."""
        with self._lock:
            record = self._records.get(session_id)
            if record is not None and record.turn_id == turn_id:
                record.turn_id = None

    def messages(self, session_id: str) -> list[Message]:
        """A copy of the session's list of messages."""
        with self._lock:
            return list(self._record(session_id).messages)

    def compact(self, session_id: str, turn_id: str, compaction: Compaction) -> bool:
        """Remember a compression of the messages so far."""
        with self._lock:
            record = self._records.get(session_id)
            if record is None or record.turn_id != turn_id:
                return False
            record.compactions.append((len(record.messages), compaction))
            return True

    def compaction(self, session_id: str) -> Compaction | None:
        """The last compression."""
        with self._lock:
            made = self._record(session_id).compactions
            return made[-1][1] if made else None

    def keep(self, session_id: str, state: KeptState) -> None:
        """Remember what the session keeps between its turns."""
        with self._lock:
            self._record(session_id).kept = state

    def kept(self, session_id: str) -> KeptState | None:
        """What was last kept."""
        with self._lock:
            return self._record(session_id).kept

    def take_damage(self, session_id: str) -> str:  # noqa: ARG002
        """Memory is not damaged."""
        return ""

    def trouble(self, session_id: str) -> str:  # noqa: ARG002
        """There is none: nothing more than memory was promised."""
        return ""

    def is_full(self, session_id: str) -> bool:  # noqa: ARG002
        """Nothing waits."""
        return False

    def release(self, session_id: str) -> None:
        """Let go of a session, and with it of all that was said in it."""
        with self._lock:
            self._records.pop(session_id, None)

    def _record(self, session_id: str) -> _Record:
        record = self._records.get(session_id)
        if record is None:
            raise UnknownSession(session_id)
        return record
