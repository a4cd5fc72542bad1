"""Deleting sessions for good, without making others wait.

First one short transaction marks the session: from then on it is in no view. Then its rows go, a few at a time;
between two batches whoever waits may write. What a crash leaves of it is deleted by `finish_deletes`. Deleted text is
overwritten in the file.

Contents of files (the directory blobs/) are shared by sessions: `FileVersions.prune` removes those that nobody needs.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from agent_core.sessions.archive.session_rows import DELETING, IN_USE
from agent_core.sessions.database.database import Database
from agent_core.sessions.live.leases import ProcessIdentity, holder_of, is_alive, refuse_living
from agent_core.sessions.records import Holder
from agent_core.sessions.search.index import forget_deleted
from tools.light_dataclass import dataclass

Pause = Callable[[float], None]
"""Waits for so many seconds."""

_MARK = (
    "UPDATE sessions SET archived = ?, title = NULL, title_source = NULL, kept = '{}', system_hash = NULL,"
    " tools_hash = NULL, holder = NULL, holder_token = NULL, holder_until = NULL, parent_id = NULL, root_id = id"
    " WHERE id = ?"
)
_LEASE = "SELECT holder, holder_token, holder_until FROM sessions WHERE archived < ? AND id = ?"
# Search texts go with their messages. The order is of no matter: nothing of this is in view.
_BATCHES = (
    "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id = ? LIMIT ?)",
    "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE session_id = ? LIMIT ?)",
    "DELETE FROM compactions WHERE id IN (SELECT id FROM compactions WHERE session_id = ? LIMIT ?)",
    "DELETE FROM file_versions WHERE id IN (SELECT id FROM file_versions WHERE session_id = ? LIMIT ?)",
    "DELETE FROM rewinds WHERE id IN (SELECT id FROM rewinds WHERE session_id = ? LIMIT ?)",
    "DELETE FROM news WHERE id IN (SELECT id FROM news WHERE session_id = ? LIMIT ?)",
    "DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE session_id = ? LIMIT ?)",
    "DELETE FROM damaged_rows WHERE id IN (SELECT id FROM damaged_rows WHERE session_id = ? LIMIT ?)",
    "DELETE FROM turns WHERE session_id = ?1 AND number IN (SELECT number FROM turns WHERE session_id = ?1 LIMIT ?2)",
)
_UNUSED_TEXTS = (
    "DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE system_hash = texts.hash)"
    " AND NOT EXISTS (SELECT 1 FROM sessions WHERE tools_hash = texts.hash)"
)
_FIRST_BATCH = 8
_LONGEST_BATCH = 512
_GOOD_SECONDS = 0.004
_PAUSE = 0.001, 0.01


@dataclass(slots=True)
class _Size:
    """How many rows a batch has: as many as can be deleted in a few milliseconds."""

    rows: int = _FIRST_BATCH

    def learn(self, seconds: float) -> None:
        if seconds > _GOOD_SECONDS:
            self.rows = max(1, self.rows // 2)
        elif seconds < _GOOD_SECONDS / 2:
            self.rows = min(self.rows * 2, _LONGEST_BATCH)


def delete_session(database: Database, session_id: str, own: ProcessIdentity, pause: Pause = time.sleep) -> bool:
    """Delete a session; True if there was one.

    Args:
        own: this process, which may hold the session itself.

    Raises:
        SessionInUse: another living process holds it; nothing was deleted.
    """
    with database.write() as connection:
        row = connection.execute(_LEASE, (DELETING, session_id)).fetchone()
        if row is not None:
            _refuse_others(holder_of(*row), session_id, own, database.clock())
            connection.execute(_MARK, (DELETING, session_id))
    finish_deletes(database, pause)
    return row is not None


def delete_unused(database: Database, before: float, pause: Pause = time.sleep) -> tuple[str, ...]:
    """Delete what was not used since `before` (seconds since the epoch) and is neither archived nor held; the ids."""
    return _delete_where(database, f"archived = {IN_USE} AND updated_at < ?", before, pause)


def delete_empty(database: Database, before: float, pause: Pause = time.sleep) -> tuple[str, ...]:
    """Delete what was made before `before` (seconds since the epoch), has no turn and is not held; the ids.

    Commands alone are no turn.
    """
    has_turn = "EXISTS (SELECT 1 FROM turns WHERE session_id = sessions.id AND outcome IS NOT 'command')"
    return _delete_where(database, f"created_at < ? AND NOT {has_turn}", before, pause)


def is_marked(connection: sqlite3.Connection, session_id: str) -> bool:
    """Whether a session is being deleted."""
    query = "SELECT 1 FROM sessions WHERE id = ? AND archived = ?"
    return connection.execute(query, (session_id, DELETING)).fetchone() is not None


def finish_deletes(database: Database, pause: Pause = time.sleep) -> None:
    """Delete the rows of all marked sessions, also of those that a crash has left. Several processes may do it."""
    with database.read() as connection:
        marked = connection.execute("SELECT id FROM sessions WHERE archived = ?", (DELETING,)).fetchall()
    for (session_id,) in marked:
        _delete_rows(database, session_id, pause)
    if marked:
        with database.write() as connection:
            connection.execute(_UNUSED_TEXTS)
        forget_deleted(database, pause)


def _delete_rows(database: Database, session_id: str, pause: Pause) -> None:
    for statement in _BATCHES:
        size = _Size()
        while True:
            began = time.monotonic()
            count = _delete_batch(database, statement, session_id, size.rows)
            spent = time.monotonic() - began
            if count < size.rows:
                break
            size.learn(spent)
            pause(min(max(spent, _PAUSE[0]), _PAUSE[1]))
    with database.write() as connection:
        connection.execute("DELETE FROM sessions WHERE id = ? AND archived = ?", (session_id, DELETING))


def _delete_batch(database: Database, statement: str, session_id: str, rows: int) -> int:
    with database.write() as connection:
        # Another process may have finished it, and somebody begun a new session with that id.
        if not is_marked(connection, session_id):
            return 0
        return connection.execute(statement, (session_id, rows)).rowcount


def _delete_where(database: Database, condition: str, value: float, pause: Pause) -> tuple[str, ...]:
    with database.read() as connection:
        query = f"SELECT id FROM sessions WHERE archived < ? AND {condition}"  # noqa: S608 - constants
        rows = connection.execute(query, (DELETING, value)).fetchall()
    deleted = []
    for (session_id,) in rows:
        with database.write() as connection:
            # Looked at again: somebody may have gone on with it meanwhile.
            row = connection.execute(f"{_LEASE} AND {condition}", (DELETING, session_id, value)).fetchone()
            holder = holder_of(*row) if row is not None else None
            if row is None or (holder is not None and is_alive(holder, database.clock())):
                continue
            connection.execute(_MARK, (DELETING, session_id))
        deleted.append(session_id)
    finish_deletes(database, pause)
    return tuple(deleted)


def _refuse_others(holder: Holder | None, session_id: str, own: ProcessIdentity, now: float) -> None:
    if holder is None or (holder.pid, holder.started) == (own.pid, own.started):
        return
    refuse_living(holder, session_id, now, "deleted")
