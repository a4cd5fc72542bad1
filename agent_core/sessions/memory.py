"""Conversations in memory: gone with the process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import field

from agent_core.context.compaction import Compaction
from agent_core.errors import UnknownSession
from agent_core.events import SessionEvent
from agent_core.messages import Message
from agent_core.sessions.kept_state import KeptState
from agent_core.sessions.records import PromptLeft
from tools.light_dataclass import dataclass


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

    def read_ahead(self, session_id: str) -> list[Message]:
        """The same: nothing has to be read."""
        return self.messages(session_id)

    def forget_ahead(self, session_id: str) -> None:
        """Nothing was read."""

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
