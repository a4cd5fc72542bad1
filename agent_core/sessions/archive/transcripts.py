"""Everything of a session that is in view, from its rows."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

from agent_core.errors import StoreError
from agent_core.events import SessionEvent
from agent_core.messages import Message
from agent_core.sessions.archive.session_records import read_record
from agent_core.sessions.archive.session_rows import Row
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.events.event_codec import decode, unreadable
from agent_core.sessions.records import SessionRecord, StoredEvent, StoredMessage, Transcript, TurnRecord
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_TURNS = (
    "SELECT number, id, began_at, ended_at, outcome, note, undone FROM turns WHERE session_id = ? ORDER BY number"
)
_MESSAGES = (
    "SELECT id, turn, body, created_at, hidden FROM messages WHERE session_id = ? AND hidden != 'undone' ORDER BY id"
)
_UNTOLD = (
    "SELECT id, turn, body, created_at, hidden FROM messages WHERE session_id = ?1 AND hidden != 'undone'"
    " AND (turn NOT IN (SELECT turn FROM events WHERE session_id = ?1)"
    " OR turn IN (SELECT turn FROM events WHERE session_id = ?1 AND open = 1)) ORDER BY id"
)
_EVENTS = (
    "SELECT turn, position, kind, version, body, open, created_at FROM events"
    " WHERE session_id = ? ORDER BY turn, position"
)


@dataclass(frozen=True, slots=True)
class SessionRows:
    """What the database holds of a session, as of one moment."""

    session: SessionRecord
    turns: tuple[TurnRecord, ...]
    messages: Sequence[Row]
    events: Sequence[Row]


def read_turns(connection: sqlite3.Connection, session_id: str) -> tuple[TurnRecord, ...]:
    """All turns of a session, undone ones as well, in order."""
    rows = connection.execute(_TURNS, (session_id,))
    return tuple(
        TurnRecord(number, turn_id, began_at, ended_at, outcome, note, bool(undone))
        for number, turn_id, began_at, ended_at, outcome, note, undone in rows
    )


def read_rows(connection: sqlite3.Connection, session_id: str, *, all_messages: bool = True) -> SessionRows:
    """A session's rows. Making a transcript of them takes longer and needs no connection.

    Args:
        all_messages: False leaves out those of turns that have events and no call that broke off: what is shown
            does not need them.

    Raises:
        UnknownSession: there is no such session.
    """
    return SessionRows(
        read_record(connection, session_id),
        read_turns(connection, session_id),
        connection.execute(_MESSAGES if all_messages else _UNTOLD, (session_id,)).fetchall(),
        connection.execute(_EVENTS, (session_id,)).fetchall(),
    )


def transcript_of(rows: SessionRows) -> Transcript:
    """The transcript: nothing undone; withdrawn messages are in it, marked.

    What is damaged makes no session unusable: a note stands in for an event, a message is left out, and the log has a
    line about them.
    """
    turns = tuple(turn for turn in rows.turns if not turn.undone)
    # What was saved from a damaged database may have lost its turn's row; it is in view nevertheless.
    undone = frozenset(turn.number for turn in rows.turns if turn.undone)
    messages = tuple(_messages(rows, undone))
    events = tuple(_events(rows, undone))
    return Transcript(rows.session, turns, messages, events)


def decoded(kind: str, version: int, body: str | bytes, is_open: int) -> tuple[SessionEvent, ...]:
    """The events of a row.

    Raises:
        StoreError: it is damaged.
    """
    value = unpack(body)
    if not isinstance(value, dict):
        raise StoreError("An item of the session's history is damaged. Run `hermes-acp doctor`.", kind="corrupt")
    return decode(kind, version, value, open=bool(is_open))


def _messages(rows: SessionRows, undone: Collection[int]) -> Iterator[StoredMessage]:
    damaged = 0
    for message_id, turn, body, created_at, hidden in rows.messages:
        if turn in undone:
            continue
        message = _message(body)
        if message is None:
            damaged += 1
        else:
            yield StoredMessage(message_id, turn, message, created_at, hidden)
    if damaged:
        log.warning("%d messages of session %s are damaged and left out", damaged, rows.session.id)


def _message(body: str | bytes) -> Message | None:
    try:
        value: Any = unpack(body)
    except StoreError:
        return None
    return cast("Message", value) if isinstance(value, dict) and "role" in value else None


def _events(rows: SessionRows, undone: Collection[int]) -> Iterator[StoredEvent]:
    damaged = 0
    for turn, position, kind, version, body, is_open, created_at in rows.events:
        if turn in undone:
            continue
        try:
            events = decoded(kind, version, body, is_open)
        except StoreError:
            damaged += 1
            events = unreadable()
        yield StoredEvent(turn, position, created_at, events, bool(is_open))
    if damaged:
        log.warning("%d items of session %s are damaged; notes stand in for them", damaged, rows.session.id)
