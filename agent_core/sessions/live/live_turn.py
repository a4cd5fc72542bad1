"""A turn that this process runs, or ran and has not stored to its end."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_core.sessions.events.journal import JournalRow, TurnJournal
from agent_core.sessions.live.message_rows import count_messages
from agent_core.sessions.live.turn_rows import PackedEvent, packed_events, write_events
from tools.light_dataclass import dataclass


@dataclass(slots=True, eq=False)
class LiveTurn:
    """The turn.

    Attributes:
        began_at: seconds since the epoch.
        number: its number in the session once it is stored.
        messages: how many were appended.
        visible: how many of them, at the end of the history, the model is shown.
        compactions: how many were made in it.
        stored: how many of them are stored; None after a failure, when only the database knows.
        taken: what the journal gave and is not stored yet; `events` is the same, packed.
        unsaved: bytes of what could not be stored of the journal when that was tried last.
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
    unsaved: int = 0

    def take(self, *, final: bool) -> None:
        """Take what the journal has. `final`: the turn is over."""
        if self.journal.is_dirty:
            self.taken = self.journal.take(final)
            self.events = packed_events(self.taken)

    def write_events(self, connection: sqlite3.Connection) -> None:
        """Write what was taken. Twice does no harm."""
        if self.events and self.number is not None:
            write_events(connection, self.session_id, self.number, self.events)

    def settle(self) -> None:
        """What was taken is stored."""
        self.taken, self.events, self.unsaved = (), (), 0

    def fail(self) -> None:
        """What was tried may be stored or not."""
        self.journal.put_back(self.taken)
        if self.events:
            self.unsaved = sum(len(event[3]) for event in self.events)
        self.taken, self.events = (), ()
        self.stored = None

    def count_stored(self, connection: sqlite3.Connection, number: int) -> int:
        """How many of its messages are stored."""
        if self.stored is None:
            self.stored = count_messages(connection, self.session_id, number)
        return self.stored
