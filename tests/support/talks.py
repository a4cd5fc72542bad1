"""Stored conversations to search in: rows as the store writes them, put straight into a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.sessions.database import Database, pack

NOW = 1_800_000_000.0
"""The time that tests of searching take for now."""

_CALL = tool_call("c", "terminal", "{}")


def asked(text: str) -> Message:
    """What the person said."""
    return user_message(text)


def answered(text: str) -> Message:
    """What the model said."""
    return assistant_message(text)


def printed(text: str) -> Message:
    """What a tool answered."""
    return tool_message(_CALL, text)


@dataclass(frozen=True, slots=True)
class Talks:
    """Writes sessions into `database`."""

    database: Database

    def add(
        self,
        session_id: str,
        messages: Sequence[Message | str] = (),
        *,
        root: str = "",
        cwd: str = "/srv/app",
        title: str | None = None,
        at: float = NOW,
        archived: int = 0,
    ) -> list[int]:
        """A session with one turn; a plain string is the person's word. The messages' ids."""
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO sessions (id, cwd, source, mode, title, root_id, created_at, updated_at, archived,"
                " turns_begun) VALUES (?, ?, 'acp', 'default', ?, ?, ?, ?, ?, 1)",
                (session_id, cwd, title, root or session_id, at, at, archived),
            )
            connection.execute(
                "INSERT INTO turns (session_id, number, id, began_at) VALUES (?, 1, 't', ?)", (session_id, at)
            )
        return self.say(session_id, messages, at=at)

    def say(self, session_id: str, messages: Sequence[Message | str], *, at: float = NOW) -> list[int]:
        """More messages of a session; their ids."""
        ids = []
        with self.database.write() as connection:
            for each in messages:
                message = asked(each) if isinstance(each, str) else each
                row = connection.execute(
                    "INSERT INTO messages (session_id, turn, role, body, created_at) VALUES (?, 1, ?, ?, ?)",
                    (session_id, message["role"], pack(message), at),
                )
                assert row.lastrowid is not None
                ids.append(row.lastrowid)
        return ids

    def hide(self, message_id: int, hidden: str) -> None:
        """Set why a message is not in the model's history."""
        self.execute("UPDATE messages SET hidden = ? WHERE id = ?", hidden, message_id)

    def execute(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement of the test's own."""
        with self.database.write() as connection:
            return connection.execute(sql, values).fetchall()
