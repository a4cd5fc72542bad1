"""Pages of sessions, newest first, and the cursors that lead from one to the next.

A cursor holds the place of the last session that was told (when it was used, its id), not how many to pass over. So
nothing is told twice or passed over because other sessions were used, made or deleted meanwhile. The one thing it
cannot promise: a session that is used after the first page and before its own turn moves to the front, behind the
cursor; it is told when the list is read anew.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, Self

from agent_core.errors import RequestError, UnknownSession
from agent_core.sessions.archive.session_records import COLUMNS, record_from
from agent_core.sessions.archive.session_rows import ARCHIVED, DELETING, IN_USE, path_text
from agent_core.sessions.events.stored_values import plain_text
from agent_core.sessions.records import SessionPage, SessionRecord
from tools.light_dataclass import dataclass

MOST_ON_A_PAGE = 1_000
_VERSION = 1
_LONGEST_CURSOR = 4_000
_CANDIDATES = 5
_BEYOND = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sessions a list is of.

    Attributes:
        cwd: only those that work there; None for all.
        archived: those that were put aside, in place of all others.
        spellings: how else that directory is spelled, of `stored_places`.
    """

    cwd: str | None = None
    archived: bool = False
    spellings: Sequence[str] = ()

    @property
    def mark(self) -> str:
        """What tells this selection from others, in a cursor."""
        return hashlib.sha256(json.dumps([self.cwd, self.archived]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place after a session: when that was used, in seconds since the epoch, and its id."""

    updated_at: float
    session_id: str

    def text(self, selection: Selection) -> str:
        """The cursor as a client gets it."""
        value = [_VERSION, selection.mark, self.updated_at, self.session_id]
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str, selection: Selection) -> Self:
        """The cursor in `text`.

        Raises:
            RequestError: it is none of ours, is damaged, or belongs to a list of other sessions.
        """
        match _json_in(text):
            case [version, str(mark), float() | int() as updated_at, str(session_id)] if (
                version == _VERSION and not isinstance(updated_at, bool) and math.isfinite(updated_at)
            ):
                if mark != selection.mark:
                    raise _refusal("It belongs to a list of other sessions (another cwd, or archived ones).")
                return cls(float(updated_at), plain_text(session_id))
        raise _refusal("It is not one that this program gives, or was changed on its way.")


def read_page(
    connection: sqlite3.Connection,
    selection: Selection,
    cursor: str | None,
    limit: int,
    with_empty: Collection[str],
) -> SessionPage:
    """One page. Sessions without a turn (or with commands alone) are left out, but for those in `with_empty`.

    So are those of sub-agents.

    Args:
        limit: sessions on a page; at least 1 and at most 1,000 are given.

    Raises:
        RequestError: as `Cursor.parse`.
    """
    limit = min(max(limit, 1), MOST_ON_A_PAGE)
    conditions = ["s.archived = ?", "s.source != 'sub-agent'"]
    values: list[Any] = [ARCHIVED if selection.archived else IN_USE]
    if selection.cwd is not None:
        places = dict.fromkeys((path_text(selection.cwd), *selection.spellings))
        conditions.append(f"s.cwd IN ({', '.join('?' * len(places))})")  # of one, the index has the order
        values += places
    if cursor is not None:
        after = Cursor.parse(cursor, selection)
        conditions.append("s.updated_at <= ? AND (s.updated_at < ? OR s.id > ?)")
        values += (after.updated_at, after.updated_at, after.session_id)
    conditions.append(
        "(EXISTS (SELECT 1 FROM turns WHERE session_id = s.id AND outcome IS NOT 'command')"
        " OR s.id IN (SELECT value FROM json_each(?)))"
    )
    values += (json.dumps(list(with_empty)), limit + 1)
    sql = (
        f"SELECT {COLUMNS} FROM sessions AS s WHERE {' AND '.join(conditions)}"  # noqa: S608 - constants
        " ORDER BY s.updated_at DESC, s.id LIMIT ?"
    )
    sessions = tuple(record_from(row) for row in connection.execute(sql, values))
    if len(sessions) <= limit:
        return SessionPage(sessions)
    last = sessions[limit - 1]
    return SessionPage(sessions[:limit], Cursor(last.updated_at, last.id).text(selection))


def stored_places(connection: sqlite3.Connection) -> Sequence[str]:
    """Every directory that a session works in, as it is stored."""
    return [row[0] for row in connection.execute("SELECT DISTINCT cwd FROM sessions")]


def find_session(connection: sqlite3.Connection, beginning: str) -> SessionRecord:
    """The session with this id, or the only one whose id begins so.

    Raises:
        UnknownSession: there is none.
        RequestError: there are several, or `beginning` is empty.
    """
    if not beginning:
        raise RequestError("No session was named. Give the beginning of its id; the list of sessions shows the ids.")
    beginning = plain_text(beginning)
    sql = (
        f"SELECT {COLUMNS} FROM sessions AS s WHERE s.id >= ? AND s.id < ? AND s.archived < {DELETING}"  # noqa: S608
        " ORDER BY s.id LIMIT ?"
    )
    rows = connection.execute(sql, (beginning, beginning + _BEYOND, _CANDIDATES + 1)).fetchall()
    if not rows:
        raise UnknownSession(beginning)
    found = [record_from(row) for row in rows]
    if len(found) == 1 or found[0].id == beginning:
        return found[0]
    told = ", ".join(f"{record.id} ({record.title or 'no title'})" for record in found[:_CANDIDATES])
    more = ", …" if len(found) > _CANDIDATES else ""
    raise RequestError(f"Several sessions begin with {beginning!r}: {told}{more}. Give more of the id.")


def read_children(connection: sqlite3.Connection, session_id: str) -> tuple[SessionRecord, ...]:
    """The sessions of a session's sub-agents, oldest first."""
    sql = (
        f"SELECT {COLUMNS} FROM sessions AS s WHERE s.parent_id = ? AND s.source = 'sub-agent'"  # noqa: S608 - constants
        f" AND s.root_id = (SELECT root_id FROM sessions WHERE id = ?) AND s.archived < {DELETING}"
        " ORDER BY s.created_at, s.id"
    )
    return tuple(record_from(row) for row in connection.execute(sql, (session_id, session_id)))


def _json_in(text: str) -> object:
    if len(text) > _LONGEST_CURSOR:
        return None
    try:
        padded = text + "=" * (-len(text) % 4)
        return json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        return None


def _refusal(cause: str) -> RequestError:
    return RequestError(f"The sessions could not be listed from this cursor. {cause} List again without a cursor.")
