"""A new session from an earlier one: all of it, or what was said up to a certain message.

Everything is copied, so that neither session can change the other. Message ids of clients begin with the turn's id
and need to be unique within a session only, so turns keep theirs. Earlier contents of files are not copied: the fork
has changed no file, and must not take back what the other session did.
"""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import asdict
from typing import Any

from agent_core.errors import RequestError, StoreError
from agent_core.events import PlanChanged
from agent_core.sessions.archive.fork_point import ForkPoint, fork_point
from agent_core.sessions.archive.session_records import read_record
from agent_core.sessions.archive.session_rows import options_text, path_text, roots_text
from agent_core.sessions.archive.titles import clean_title
from agent_core.sessions.archive.transcripts import decoded
from agent_core.sessions.events.stored_values import plain_text
from agent_core.sessions.live.compaction_rows import copy_compactions
from agent_core.sessions.live.leases import is_alive
from agent_core.sessions.live.message_rows import IN_HISTORY
from agent_core.sessions.records import NewSession, SessionRecord

_FORK_MARK = re.compile(r" \(fork(?: \d+)?\)$")
_BEYOND = 2**62

_COPY_SESSION = """
INSERT INTO sessions (
    id, cwd, roots, source, mode, model, options, title, title_source, parent_id, root_id, kept, system_hash,
    tools_hash, requests, usage, cost, created_at, updated_at, turns_begun
)
SELECT
    :id, :cwd, :roots, :source, :mode, coalesce(:model, model), :options, :title, title_source, id, root_id, kept,
    CASE WHEN cwd = :cwd AND roots = :roots THEN system_hash END, tools_hash, requests, usage, cost, :now, :now, 0
FROM sessions WHERE id = :from
"""
# A turn that runs goes on in the other session alone; one that broke off has broken off in both.
_COPY_TURNS = """
INSERT INTO turns (session_id, number, id, began_at, ended_at, outcome, note)
SELECT
    :id, number, id, began_at,
    CASE WHEN number = :partial OR (ended_at IS NULL AND number = :running) THEN :now ELSE ended_at END,
    CASE WHEN number = :partial OR (ended_at IS NULL AND number = :running) THEN 'cancelled' ELSE outcome END,
    CASE WHEN number = :partial THEN '' ELSE note END
FROM turns
WHERE session_id = :from AND undone = 0 AND (number < :turn OR number = :partial) ORDER BY number
"""
_COPY_MESSAGES = """
INSERT INTO messages (session_id, turn, role, body, hidden, created_at)
SELECT :id, turn, role, body, hidden, created_at FROM messages
WHERE session_id = :from AND hidden != 'undone' AND turn IN (SELECT number FROM turns WHERE session_id = :id)
    AND (turn < :turn OR id <= :last_message) ORDER BY id
"""
_COPY_EVENTS = """
INSERT INTO events (session_id, turn, position, kind, version, body, open, created_at)
SELECT :id, turn, position, kind, version, body, open, created_at FROM events
WHERE session_id = :from AND turn IN (SELECT number FROM turns WHERE session_id = :id)
    AND (turn < :turn OR position IN (SELECT value FROM json_each(:positions))) ORDER BY turn, position
"""
_COUNT_TURNS = """
UPDATE sessions SET turns_begun = coalesce((SELECT max(number) FROM turns WHERE session_id = :id), 0) WHERE id = :id
"""


def copy_session(
    connection: sqlite3.Connection, session_id: str, new: NewSession, until: str | None, now: float
) -> None:
    """Make the session `new` of what is in view of another, within a write transaction.

    What the session keeps comes along: plan, tools, what was spent so far, and the system prompt where directory and
    roots are the same. Turns that were taken back do not. A turn that runs is copied as far as it is stored, and has
    ended in the fork. With `until`, the plan is that of the turns before the message's.

    Args:
        new: its model may be None: the other's. Its title is the other's, with « (fork)».
        until: a message id: the fork ends before that prompt of the person, or after that answer of the agent and
            the results of the tools it called. None copies all.

    Raises:
        UnknownSession: there is no session `session_id`.
        RequestError: there is a session `new.id` already, or no message `until`.
        StoreError: what must be read for it is damaged.
    """
    source = read_record(connection, session_id)
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (new.id,)).fetchone() is not None:
        raise RequestError(
            f"The session was not forked: there is one with the id {new.id!r} already. Use another id."
        )
    point = fork_point(connection, session_id, until) if until is not None else ForkPoint(_BEYOND)
    values = _values(connection, source, new, point, now)
    for statement in (_COPY_SESSION, _COPY_TURNS, _COPY_MESSAGES, _COPY_EVENTS, _COUNT_TURNS):
        connection.execute(statement, values)
    copy_compactions(connection, session_id, new.id)
    if until is not None:
        _shorten_kept(connection, new.id)


def fork_title(title: str | None, earlier: int) -> str | None:
    """The title of a fork: «Title (fork)», then «Title (fork 2)»; None for a session without a title.

    Args:
        title: of the session that is forked, which may be a fork itself.
        earlier: how many forks there are in its line.
    """
    if title is None:
        return None
    mark = f" (fork {earlier + 1})" if earlier else " (fork)"
    return clean_title(_FORK_MARK.sub("", title), room=len(mark)) + mark


def _values(
    connection: sqlite3.Connection, source: SessionRecord, new: NewSession, point: ForkPoint, now: float
) -> dict[str, Any]:
    forks = "SELECT count(*) FROM sessions WHERE root_id = ? AND id != root_id AND source != 'sub-agent'"
    newest = connection.execute("SELECT max(number) FROM turns WHERE session_id = ?", (source.id,)).fetchone()[0]
    return {
        "from": source.id,
        "id": new.id,
        "cwd": path_text(new.cwd),
        "roots": roots_text(new.roots),
        "source": plain_text(new.source),
        "mode": new.mode,
        "model": new.model,
        "options": options_text(new.options),
        "title": fork_title(source.title, connection.execute(forks, (source.root_id,)).fetchone()[0]),
        "now": now,
        "running": newest if source.holder is not None and is_alive(source.holder, now) else None,
        "turn": point.turn,
        "partial": point.turn if point.last_message is not None else None,
        "last_message": point.last_message,
        "positions": json.dumps(point.positions),
    }


def _shorten_kept(connection: sqlite3.Connection, session_id: str) -> None:
    """What a fork keeps must not speak of what it does not have: a later plan, positions beyond its end."""
    (text,) = connection.execute("SELECT kept FROM sessions WHERE id = ?", (session_id,)).fetchone()
    count = f"SELECT count(*) FROM messages WHERE {IN_HISTORY}"  # noqa: S608 - a constant
    (messages,) = connection.execute(count, (session_id,)).fetchone()
    try:
        kept = json.loads(text)
        if not kept:
            return
        kept["plan"] = _last_plan(connection, session_id)
        for position in ("sealed_before", "images_before"):
            kept["omissions"][position] = min(kept["omissions"][position], messages)
    except (ValueError, TypeError, KeyError):
        kept = {}  # it could not be read in the other session either; the fork begins without
    connection.execute("UPDATE sessions SET kept = ? WHERE id = ?", (json.dumps(kept), session_id))


def _last_plan(connection: sqlite3.Connection, session_id: str) -> list[dict[str, Any]]:
    """The plan as the session's events have it last, as it is kept; empty where it cannot be read."""
    query = (
        "SELECT kind, version, body, open FROM events WHERE session_id = ? AND kind = 'plan'"
        " ORDER BY turn DESC, position DESC LIMIT 1"
    )
    row = connection.execute(query, (session_id,)).fetchone()
    try:
        events = decoded(*row) if row is not None else ()
    except StoreError:
        return []
    return [asdict(item) for event in events if isinstance(event, PlanChanged) for item in event.items]
