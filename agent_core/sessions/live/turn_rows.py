"""Rows of the tables `turns` and `events` as the live conversation writes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_core.sessions.database.bodies import pack
from agent_core.sessions.events.journal import JournalRow
from agent_core.sessions.events.stored_values import plain_text

_OF_NO_MESSAGE = (
    " AND NOT EXISTS (SELECT 1 FROM events AS e WHERE e.session_id = turns.session_id AND e.turn = turns.number)"
    " AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = turns.session_id AND m.turn = turns.number)"
)

PackedEvent = tuple[int, str, int, str | bytes, bool, float]
"""Position, kind, version, body, whether it is open, and when it began."""


def insert_turn(connection: sqlite3.Connection, session_id: str, turn_id: str, began_at: float) -> int:
    """Begin a turn with the session's next number, which is the result."""
    query = "UPDATE sessions SET turns_begun = turns_begun + 1 WHERE id = ? RETURNING turns_begun"
    number: int = connection.execute(query, (session_id,)).fetchall()[0][0]
    connection.execute(
        "INSERT INTO turns (session_id, number, id, began_at) VALUES (?, ?, ?, ?)",
        (session_id, number, turn_id, began_at),
    )
    return number


def find_turn(connection: sqlite3.Connection, session_id: str, turn_id: str, began_at: float) -> int | None:
    """The number of the turn that began just then, None where it is not stored."""
    row = connection.execute(
        "SELECT max(number) FROM turns WHERE session_id = ? AND id = ? AND began_at = ?",
        (session_id, turn_id, began_at),
    ).fetchone()
    number: int | None = row[0]
    return number


def close_turn(
    connection: sqlite3.Connection, session_id: str, number: int, *, ended_at: float, outcome: str, note: str
) -> None:
    """Write down how a turn ended."""
    connection.execute(
        "UPDATE turns SET ended_at = ?, outcome = ?, note = ? WHERE session_id = ? AND number = ?",
        (ended_at, outcome, plain_text(note), session_id, number),
    )


def drop_empty_turn(connection: sqlite3.Connection, session_id: str, number: int) -> None:
    """Remove a turn in which nothing was said and nothing happened."""
    connection.execute(
        f"DELETE FROM turns WHERE session_id = ? AND number = ? {_OF_NO_MESSAGE}",  # noqa: S608 - a constant
        (session_id, number),
    )


def drop_turns_left_empty(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove the turns that a process began and left, dying, before anything happened."""
    connection.execute(
        f"DELETE FROM turns WHERE session_id = ? AND ended_at IS NULL {_OF_NO_MESSAGE}",  # noqa: S608 - a constant
        (session_id,),
    )


def packed_events(rows: Sequence[JournalRow]) -> list[PackedEvent]:
    """What a journal gave, ready to be stored."""
    return [(row.position, row.kind, row.version, pack(row.body), row.open, row.created_at) for row in rows]


def write_events(connection: sqlite3.Connection, session_id: str, turn: int, events: Sequence[PackedEvent]) -> None:
    """Store events of a turn; each takes the place of the one at its position."""
    connection.executemany(
        "INSERT INTO events (session_id, turn, position, kind, version, body, open, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, turn, position)"
        " DO UPDATE SET kind = excluded.kind, version = excluded.version, body = excluded.body, open = excluded.open",
        [(session_id, turn, *event) for event in events],
    )
