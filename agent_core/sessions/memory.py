"""Conversations in memory: gone with the process."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from agent_core.errors import UnknownSession
from agent_core.messages import Message


@dataclass(slots=True)
class _Record:
    cwd: str
    messages: list[Message] = field(default_factory=list)
    turn_id: str | None = None
    turn_start: int = 0
    withdrawn: list[Message] = field(default_factory=list)


class InMemorySessionStore:
    """A `SessionStore` without a file."""

    def __init__(self) -> None:
        self._records: dict[str, _Record] = {}
        self._lock = threading.Lock()

    def create(self, session_id: str, cwd: str) -> None:
        """Begin a session; one that exists is left as it is."""
        with self._lock:
            self._records.setdefault(session_id, _Record(cwd))

    def begin_turn(self, session_id: str, turn_id: str) -> None:
        """From now on only `turn_id` may append."""
        with self._lock:
            record = self._record(session_id)
            record.turn_id, record.turn_start = turn_id, len(record.messages)

    def append(self, session_id: str, turn_id: str, message: Message) -> bool:
        """Store a message of the running turn."""
        with self._lock:
            record = self._record(session_id)
            if record.turn_id != turn_id:
                return False
            record.messages.append(message)
            return True

    def withdraw(self, session_id: str, turn_id: str) -> bool:
        """Leave the running turn's messages out from now on."""
        with self._lock:
            record = self._record(session_id)
            if record.turn_id != turn_id:
                return False
            record.withdrawn += record.messages[record.turn_start :]
            del record.messages[record.turn_start :]
            return True

    def end_turn(self, session_id: str, turn_id: str) -> None:
        """Close the turn, if it is still the running one."""
        with self._lock:
            record = self._records.get(session_id)
            if record is not None and record.turn_id == turn_id:
                record.turn_id = None

    def messages(self, session_id: str) -> list[Message]:
        """A copy of the session's list of messages."""
        with self._lock:
            return list(self._record(session_id).messages)

    def forget(self, session_id: str) -> None:
        """Let go of a session."""
        with self._lock:
            self._records.pop(session_id, None)

    def _record(self, session_id: str) -> _Record:
        record = self._records.get(session_id)
        if record is None:
            raise UnknownSession(session_id)
        return record
