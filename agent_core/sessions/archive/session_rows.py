"""How sessions are written into the table `sessions`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from agent_core.errors import UnknownSession
from agent_core.sessions.events.stored_values import plain_text
from agent_core.sessions.records import NewSession

# The values of `archived`. A session that is being deleted is in no view any more; its rows go bit by bit.
IN_USE, ARCHIVED, DELETING = 0, 1, 2

_BETTER_THAN: Mapping[str, tuple[str, ...]] = {
    "prompt": (),  # the first prompt names a session, not the latest
    "model": ("prompt", "model"),
    "person": ("prompt", "model", "person"),
}

Row = tuple[Any, ...]
"""A row as it comes from the database."""


def insert_new(connection: sqlite3.Connection, new: NewSession, now: float) -> bool:
    """Add a session; False where one with its id is there already."""
    added = connection.execute(
        "INSERT INTO sessions"
        " (id, cwd, roots, source, mode, model, options, parent_id, root_id, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, coalesce((SELECT root_id FROM sessions WHERE id = ?), ?), ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (
            new.id,
            path_text(new.cwd),
            roots_text(new.roots),
            plain_text(new.source),
            new.mode,
            new.model,
            options_text(new.options),
            new.parent_id,
            new.parent_id,
            new.id,
            now,
            now,
        ),
    )
    return added.rowcount == 1


def write_title(connection: sqlite3.Connection, session_id: str, title: str, source: str) -> bool:
    """Give a session a title; False where it keeps the better one that it has.

    Args:
        source: whose words it is, as in `titles.TitleSource`.

    Raises:
        UnknownSession: there is no such session.
    """
    query = "SELECT title, title_source FROM sessions WHERE id = ? AND archived < ?"
    row = connection.execute(query, (plain_text(session_id), DELETING)).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    if row[0] is not None and row[1] not in (*_BETTER_THAN[source], None):
        return False
    connection.execute("UPDATE sessions SET title = ?, title_source = ? WHERE id = ?", (title, source, session_id))
    return True


def path_text(path: str) -> str:
    """A directory as it is stored: as it is, or as JSON if its name is no UTF-8, which SQLite would not take."""
    return path if path == plain_text(path) else json.dumps(path)


def path_from(text: str) -> str:
    """The directory that is stored as `text`; one that can be told from JSON, being absolute."""
    return str(json.loads(text)) if text.startswith('"') else text


def roots_text(roots: Sequence[str]) -> str:
    """Directories as they are stored."""
    return json.dumps(list(roots))


def options_text(options: Mapping[str, Any]) -> str:
    """The person's choices as they are stored."""
    return json.dumps(dict(options))
