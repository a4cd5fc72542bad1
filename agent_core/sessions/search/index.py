"""Brings the search index up to date. Any number of processes may do so at once.

Ids of messages are given within the transaction that stores them, and there is one at a time: a smaller id is never
committed later. Each transaction here goes on where the index ended when it was read, and adds every message up to
its last one. So the highest id in the index tells how far it reaches, and it has no holes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from agent_core.errors import StoreError
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.database.database import Database
from agent_core.sessions.search.levels import keep_few
from agent_core.sessions.search.texts import prepared, searchable

_BATCH = 16
_BATCH_CHARS = 24 * 1024  # the index takes some three milliseconds for them

_PENDING = (
    "SELECT id, role, body FROM messages WHERE id > (SELECT coalesce(max(message_id), 0) FROM search_texts)"
    " ORDER BY id LIMIT ?"
)
_REACH = "SELECT coalesce((SELECT max(id) FROM messages), 0), coalesce((SELECT max(message_id) FROM search_texts), 0)"
# A message that is gone by now is passed over; one that was taken back or indexed by others meanwhile stays right.
_ADD = (
    "INSERT INTO search_texts (message_id, session_id, hidden, created_at, {column})"
    " SELECT id, session_id, hidden, created_at, ? FROM messages WHERE id = ?"
    " ON CONFLICT (message_id) DO NOTHING"
)
_ADD_TEXT = {role: _ADD.format(column=role) for role in ("user", "assistant", "tool")}

# The index keeps the words of what was deleted, marked, until its parts are merged. A step takes some milliseconds.
_MERGE = "INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)"
_MERGED_PAGES = 64
_PAUSE = 0.001, 0.01
_NOTHING_MERGED = 2  # changes: the statement itself counts

Entry = tuple[str, str, int]  # role, text, message id


def index_pending(
    database: Database, limit: int = 200, *, within: float | None = None, patience: float | None = None
) -> int:
    """Make messages searchable that are not yet, the oldest first, in short transactions.

    Args:
        limit: messages, at most.
        within: seconds after which no further transaction is begun; None for no end.
        patience: seconds that a busy database is tried; None for the database's own.

    Returns:
        How many messages were looked at.

    Raises:
        StoreError: the database cannot be read or written; what was done until then stays.
    """
    until = None if within is None else time.monotonic() + within
    done = 0
    while done < limit and (until is None or time.monotonic() < until):
        entries = _next_entries(database, min(_BATCH, limit - done))
        if not entries:
            break
        with database.write(patience) as connection:
            for role, text, message_id in entries:
                connection.execute(_ADD_TEXT.get(role, _ADD_TEXT["user"]), (text, message_id))
        done += len(entries)
    return done


def forget_deleted(database: Database, pause: Callable[[float], None] = time.sleep) -> None:
    """Remove the words of deleted messages from the index's own file pages, in short transactions.

    Raises:
        StoreError: the database cannot be written; what was done until then stays.
    """
    keep_few(database)
    pages = -_MERGED_PAGES  # negative: all parts of the index become one
    while True:
        began = time.monotonic()
        with database.write() as connection:
            before = connection.total_changes
            connection.execute(_MERGE, (pages,))
            if connection.total_changes - before < _NOTHING_MERGED:
                return
        pages = _MERGED_PAGES
        pause(min(max(time.monotonic() - began, _PAUSE[0]), _PAUSE[1]))


def unsearched(database: Database) -> int:
    """About how many messages are not in the index yet, counted by their ids.

    Raises:
        StoreError: the database cannot be read.
    """
    with database.read() as connection:
        stored, indexed = connection.execute(_REACH).fetchone()
    return max(0, int(stored) - int(indexed))


def _next_entries(database: Database, limit: int) -> list[Entry]:
    entries: list[Entry] = []
    chars = 0
    with database.read() as connection:
        for message_id, role, body in connection.execute(_PENDING, (limit,)):
            text = _text(body)
            chars += len(text)
            if entries and chars > _BATCH_CHARS:
                break
            entries.append((role, text, message_id))
    return entries


def _text(body: Any) -> str:
    try:
        return prepared(searchable(unpack(body)))
    except (StoreError, KeyError, TypeError, AttributeError):
        return ""  # a damaged message is told of where it is read; here it must not stop those after it
