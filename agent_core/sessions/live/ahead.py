"""What the next turn of a session begins with, read before the session is this process's to prompt."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_core.context.compaction import Compaction
from agent_core.messages import Message
from agent_core.sessions.database.database import Database
from agent_core.sessions.database.mark import Mark
from agent_core.sessions.kept_state import KeptState
from agent_core.sessions.live import leases
from agent_core.sessions.live.compaction_rows import read_compaction
from agent_core.sessions.live.kept_rows import read_state
from agent_core.sessions.live.message_rows import read_bodies, unpack_messages
from agent_core.sessions.live.prompts_left import read_prompts_left
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ReadAhead:
    """What was read.

    Attributes:
        mark: when; what was read is still so if nobody has committed since. None: that cannot be told.
        bodies: the rows that the messages were read from: equal ones are the same messages.
        all_told: the model was told of all that was said.
    """

    session_id: str
    mark: Mark | None
    bodies: Sequence[str | bytes]
    messages: tuple[Message, ...]
    compaction: Compaction | None
    all_told: bool
    kept: KeptState | None

    def is_now(self, connection: sqlite3.Connection) -> bool:
        """Whether it is known to be so still, seen from within a transaction that writes."""
        return self.mark is not None and self.mark.is_now(connection)


def read_all(database: Database, session_id: str) -> ReadAhead:
    """Read a session.

    Raises:
        UnknownSession: there is none.
        StoreError: it cannot be read.
    """
    mark = database.mark()  # before the rest: what is committed meanwhile is another moment
    with database.read() as connection:
        leases.read_holder(connection, session_id)  # tells whether there is such a session
        bodies = read_bodies(connection, session_id)
        compaction = read_compaction(connection, session_id)
        left = read_prompts_left(connection, session_id, turn_id="")
        kept = read_state(connection, session_id)
    messages = tuple(unpack_messages(bodies))
    return ReadAhead(session_id, mark, bodies, messages, compaction, not left, kept)
