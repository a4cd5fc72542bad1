"""Records of sessions, from the table `sessions`."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import fields
from typing import Any

from agent_core.errors import UnknownSession
from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.archive.session_rows import ARCHIVED, DELETING, Row, path_from
from agent_core.sessions.events.stored_values import plain_text
from agent_core.sessions.live.leases import holder_of
from agent_core.sessions.records import SessionRecord

COLUMNS = (
    "s.id, s.cwd, s.roots, s.source, s.mode, s.model, s.options, s.title, s.parent_id, s.root_id, s.created_at,"
    " s.updated_at, s.archived, (SELECT count(*) FROM turns WHERE session_id = s.id AND undone = 0"
    " AND outcome IS NOT 'command'), s.requests, s.usage, s.cost, s.holder, s.holder_token, s.holder_until"
)
"""What `record_from` needs, of sessions AS s."""

_YEAR_10000 = 253_402_300_800

CAREFUL_MODE = "default"
"""The mode of a session whose options are damaged: they may have asked for more care than its mode does."""


def record_from(row: Row) -> SessionRecord:
    """The record of a row with COLUMNS. What cannot be read of it counts as not there: it hides no session."""
    (session_id, cwd, roots, source, mode, model, options, title, parent_id, root_id, *rest) = row
    (created_at, updated_at, archived, turns, requests, usage, cost, *lease) = rest
    chosen, places = _loaded(options, dict), _loaded(roots, list)
    whole = chosen is not None and places is not None and is_moment(created_at) and is_moment(updated_at)
    return SessionRecord(
        id=session_id,
        cwd=path_from(cwd),
        roots=tuple(str(root) for root in places or ()),
        source=source,
        mode=mode if chosen is not None else CAREFUL_MODE,
        model=model,
        options=chosen or {},
        title=title,
        parent_id=parent_id,
        root_id=root_id,
        created_at=created_at if is_moment(created_at) else 0.0,
        updated_at=updated_at if is_moment(updated_at) else 0.0,
        archived=archived == ARCHIVED,
        turns=turns,
        spent=_spent(requests, usage, cost),
        holder=holder_of(*lease),
        is_damaged=not whole,
    )


def is_moment(seconds: float) -> bool:
    """Whether it is a time since the epoch that a calendar has."""
    return 0 <= seconds < _YEAR_10000


def read_record(connection: sqlite3.Connection, session_id: str) -> SessionRecord:
    """A session's record.

    Raises:
        UnknownSession: there is none, or it is being deleted.
    """
    sql = f"SELECT {COLUMNS} FROM sessions AS s WHERE s.id = ? AND s.archived < {DELETING}"  # noqa: S608 - constants
    row = connection.execute(sql, (plain_text(session_id),)).fetchone()
    if row is None:
        raise UnknownSession(session_id)
    return record_from(row)


def _spent(requests: int, usage: str, cost: float | None) -> Spent:
    counts = _loaded(usage, dict)
    if not counts:
        return Spent(requests, cost=cost) if requests else Spent()
    return Spent(requests, Usage(**{field.name: _count(counts.get(field.name)) for field in fields(Usage)}), cost)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _loaded(text: str | None, kind: type[Any]) -> Any:
    """The JSON value in `text` if it is of `kind`; None otherwise."""
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, kind) else None
