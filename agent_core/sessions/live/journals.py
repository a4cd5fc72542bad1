"""The journals of turns that run or are about to: whoever asks for one never waits for the database."""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent_core.sessions.events.journal import TurnJournal


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
