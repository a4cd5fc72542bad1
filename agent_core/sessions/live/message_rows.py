"""Rows of the table `messages` as the live conversation writes and reads them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import cast

from agent_core.messages import Message
from agent_core.sessions.database.bodies import pack, unpack_all
from tools.light_dataclass import dataclass

IN_HISTORY = (
    "session_id = ?1 AND hidden = '' AND turn > coalesce((SELECT max(number) FROM turns"
    " WHERE session_id = ?1 AND outcome = 'reset' AND undone = 0), -1)"
)
"""Of messages, those of session ?1 that the model is shown: where it began anew, what came after that."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedMessage:
    """A message ready to be stored. `created_at` is in seconds since the epoch; `news` are told with it."""

    role: str
    body: str | bytes
    created_at: float
    news: tuple[str, ...] = ()


def packed(message: Message, now: float) -> PackedMessage:
    """`message` as it will lie in its row.

    Raises:
        TypeError: it holds what is no JSON.
    """
    return PackedMessage(message["role"], pack(message), now, tuple(message.get("news", ())))


def insert_message(connection: sqlite3.Connection, session_id: str, turn: int, message: PackedMessage) -> None:
    """Add a message to a turn."""
    connection.execute(
        "INSERT INTO messages (session_id, turn, role, body, created_at) VALUES (?, ?, ?, ?, ?)",
        (session_id, turn, message.role, message.body, message.created_at),
    )


def count_messages(connection: sqlite3.Connection, session_id: str, turn: int) -> int:
    """How many messages a turn has, hidden ones too."""
    query = "SELECT count(*) FROM messages WHERE session_id = ? AND turn = ?"
    count: int = connection.execute(query, (session_id, turn)).fetchone()[0]
    return count


def withdraw_messages(connection: sqlite3.Connection, session_id: str, turn: int, count: int) -> None:
    """Take a turn's first `count` messages out of the model's history."""
    connection.execute(
        "UPDATE messages SET hidden = 'withdrawn' WHERE hidden = '' AND id IN"
        " (SELECT id FROM messages WHERE session_id = ? AND turn = ? ORDER BY id LIMIT ?)",
        (session_id, turn, count),
    )


def read_bodies(connection: sqlite3.Connection, session_id: str) -> list[str | bytes]:
    """The model's history as it lies in its rows, in order."""
    query = f"SELECT body FROM messages WHERE {IN_HISTORY} ORDER BY id"  # noqa: S608 - a constant
    return [body for (body,) in connection.execute(query, (session_id,))]


def unpack_messages(bodies: Sequence[str | bytes]) -> list[Message]:
    """The messages of such rows.

    Raises:
        StoreError: one is damaged.
    """
    return cast("list[Message]", unpack_all(bodies))
