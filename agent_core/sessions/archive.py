"""The stored sessions as a whole: found, listed, changed, forked, read and deleted; and what they cost."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from agent_core.errors import RequestError, UnknownSession
from agent_core.sessions.database import Database
from agent_core.sessions.event_codec import plain_text
from agent_core.sessions.fork import COLUMNS, copy_session, read_record, read_transcript, record_from
from agent_core.sessions.leases import holder_of, is_alive, refuse_living, refuse_others, this_process
from agent_core.sessions.records import Holder, NewSession, SessionPage, SessionRecord, Transcript
from agent_core.sessions.rows import (
    ARCHIVED,
    DELETING,
    IN_USE,
    options_text,
    path_from,
    path_text,
    roots_text,
    write_title,
)
from agent_core.sessions.search_index import forget_deleted
from agent_core.sessions.sound import read_sound, set_session_aside
from agent_core.sessions.titles import TitleSource, clean_title
from tools.light_dataclass import dataclass
from tools.os_compat import same_directory

# A cursor from one page of sessions to the next holds the place of the last session that was told (when it was used,
# its id), not how many to pass over: nothing is told twice because others were used, made or deleted meanwhile.

MOST_ON_A_PAGE = 1_000
_CANDIDATES = 5
_BEYOND = "\U0010ffff"
_HAS_TURN = "EXISTS (SELECT 1 FROM turns WHERE session_id = s.id AND outcome IS NOT 'command')"


def _list_mark(cwd: str | None, archived: bool) -> str:
    """What tells a list of sessions from others, in a cursor."""
    return hashlib.sha256(json.dumps([cwd, archived]).encode()).hexdigest()[:16]


def _cursor_after(last: SessionRecord, mark: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([mark, last.updated_at, last.id]).encode()).decode()


def _place_of(cursor: str, mark: str) -> tuple[float, str]:
    """When the last session that was told was used, and its id.

    Raises:
        RequestError: the cursor is none of ours, is damaged, or belongs to a list of other sessions.
    """
    try:
        of_list, updated_at, session_id = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        place = float(updated_at), plain_text(session_id)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _refusal("It is not one that this program gives, or was changed on its way.") from None
    if of_list != mark:
        raise _refusal("It belongs to a list of other sessions (another cwd, or archived ones).")
    return place


def _refusal(cause: str) -> RequestError:
    return RequestError(f"The sessions could not be listed from this cursor. {cause} List again without a cursor.")


# Deleting sessions for good, without making others wait.
# First one short transaction marks the session: from then on it is in no view. Then its rows go, a few milliseconds
# at a time; between two transactions whoever waits may write. What a crash leaves of it is deleted by
# `finish_deletes`. Deleted text is overwritten in the file.
# Contents of files (the directory blobs/) are shared by sessions: `FileVersions.prune` removes those that nobody
# needs.

Pause = Callable[[float], None]
"""Waits for so many seconds."""

_LEASE = "SELECT s.holder, s.holder_token, s.holder_until FROM sessions AS s"
_MARK = (
    "UPDATE sessions SET archived = ?, title = NULL, title_source = NULL, kept = '{}', system_hash = NULL,"
    " tools_hash = NULL, holder = NULL, holder_token = NULL, holder_until = NULL, parent_id = NULL, root_id = id"
    " WHERE id = ?"
)
# Search texts go with their messages. The order is of no matter: nothing of this is in view.
_TABLES = {
    **dict.fromkeys(("messages", "events", "compactions", "file_versions", "rewinds", "news", "tasks"), "id"),
    "damaged_rows": "id",
    "turns": "number",
}
_DELETE = (
    "DELETE FROM {table} WHERE session_id = ?1 AND {key} IN"
    " (SELECT {key} FROM {table} WHERE session_id = ?1 LIMIT {rows})"
)
_ROWS = 16
_PAUSE = 0.004
_UNUSED_TEXTS = (
    "DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE system_hash = texts.hash)"
    " AND NOT EXISTS (SELECT 1 FROM sessions WHERE tools_hash = texts.hash)"
)


def finish_deletes(database: Database, pause: Pause = time.sleep) -> None:
    """Delete the rows of all marked sessions, also of those that a crash has left. Several processes may do it."""
    with database.read() as connection:
        marked = connection.execute("SELECT id FROM sessions WHERE archived = ?", (DELETING,)).fetchall()
    for (session_id,) in marked:
        for table, key in _TABLES.items():
            statement = _DELETE.format(table=table, key=key, rows=_ROWS)
            while _delete_some(database, statement, session_id):
                pause(_PAUSE)
        with database.write() as connection:
            connection.execute("DELETE FROM sessions WHERE id = ? AND archived = ?", (session_id, DELETING))
    if marked:
        with database.write() as connection:
            connection.execute(_UNUSED_TEXTS)
        forget_deleted(database, pause)


def _delete_some(database: Database, statement: str, session_id: str) -> bool:
    """Delete a few rows; whether there may be more."""
    with database.write() as connection:
        # Another process may have finished it, and somebody begun a new session with that id.
        query = "SELECT 1 FROM sessions WHERE id = ? AND archived = ?"
        if connection.execute(query, (session_id, DELETING)).fetchone() is None:
            return False
        return connection.execute(statement, (session_id,)).rowcount == _ROWS


# What was used and what it cost, over days, models and projects.

By = Literal["day", "model", "project"]

_KEYS: dict[By, str] = {"day": "day", "model": "spending.model", "project": "sessions.cwd"}
_QUERY = (
    "SELECT {key}, sum(spending.requests), sum(input), sum(cached), sum(output), sum(spending.cost), sum(unpriced)"
    " FROM spending LEFT JOIN sessions ON sessions.id = session_id AND sessions.archived < 2"
    " WHERE day BETWEEN date('now', 'localtime', ?) AND date('now', 'localtime', '+1 day') GROUP BY 1"
)


@dataclass(frozen=True, slots=True)
class Spending:
    """One line: a day (`YYYY-MM-DD`), a model or a project's directory, and what was used.

    Attributes:
        name: '' for the models or projects that are not known: those of deleted sessions.
        cost: US dollars, as far as they are known.
        unpriced: how many of the requests have no known cost.
    """

    name: str
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float
    unpriced: int


def spending(database: Database, by: By, days: int) -> tuple[Spending, ...]:
    """What was used in the last `days` days, today included: days in their order, others the dearest first.

    Raises:
        StoreError: the database cannot be read.
    """
    with database.read() as connection:
        rows = connection.execute(_QUERY.format(key=_KEYS[by]), (f"-{days - 1} days",)).fetchall()
    found = [Spending(path_from(name) if by == "project" and name else name or "", *used) for name, *used in rows]
    if by == "day":
        return tuple(sorted(found, key=lambda each: each.name))
    return tuple(sorted(found, key=lambda each: (-each.cost, -each.input_tokens, each.name)))


class SessionArchive:
    """The sessions in `database`. Safe to use from several threads; every method blocks, and may raise StoreError.

    Args:
        pause: how to wait while a large session is deleted, so that others may write.
    """

    def __init__(self, database: Database, pause: Pause = time.sleep) -> None:
        self.database = database
        self._pause = pause

    def get(self, session_id: str) -> SessionRecord:
        """A session's record.

        Raises:
            UnknownSession: there is no such session.
        """
        with self.database.read() as connection:
            record = read_record(connection, session_id)
        if record.is_damaged:  # what is chosen next would take its place
            set_session_aside(self.database, session_id)
        return record

    def find(self, beginning: str) -> SessionRecord:
        """The session with this id, or the only one whose id begins so: for people.

        Raises:
            UnknownSession: there is none.
            RequestError: there are several (the message names them), or `beginning` is empty.
        """
        if not beginning:
            told = "No session was named. Give the beginning of its id; the list of sessions shows the ids."
            raise RequestError(told)
        beginning = plain_text(beginning)
        found = self._read(
            f"s.id >= ? AND s.id < ? AND s.archived < {DELETING} ORDER BY s.id LIMIT ?",
            beginning,
            beginning + _BEYOND,
            _CANDIDATES + 1,
        )
        if not found:
            raise UnknownSession(beginning)
        if len(found) == 1 or found[0].id == beginning:
            return found[0]
        told = ", ".join(f"{record.id} ({record.title or 'no title'})" for record in found[:_CANDIDATES])
        more = ", …" if len(found) > _CANDIDATES else ""
        raise RequestError(f"Several sessions begin with {beginning!r}: {told}{more}. Give more of the id.")

    def page(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        archived: bool = False,
        with_empty: Collection[str] = (),
    ) -> SessionPage:
        """A page of sessions, the last used first; a cursor leads on from the last of the page before.

        Sessions without a turn (or with commands alone) are left out, and so are those of sub-agents.

        Args:
            cwd: only those that work in this directory, however it was spelled when they were stored.
            cursor: `next_cursor` of the page before; cwd and archived must be the same.
            limit: sessions on a page; at least 1 and at most 1,000 are given.
            archived: those that were put aside, in place of the others.
            with_empty: ids of sessions that are told although they have no turn.

        Raises:
            RequestError: the cursor cannot be used.
        """
        limit, mark = min(max(limit, 1), MOST_ON_A_PAGE), _list_mark(cwd, archived)
        conditions = ["s.archived = ?", "s.source != 'sub-agent'"]
        values: list[Any] = [ARCHIVED if archived else IN_USE]
        if cwd is not None:
            places = dict.fromkeys((path_text(cwd), *self._spellings(cwd)))
            conditions.append(f"s.cwd IN ({', '.join('?' * len(places))})")  # of one, the index has the order
            values += places
        if cursor is not None:
            used, last_id = _place_of(cursor, mark)
            conditions.append("s.updated_at <= ? AND (s.updated_at < ? OR s.id > ?)")
            values += (used, used, last_id)
        conditions.append(f"({_HAS_TURN} OR s.id IN (SELECT value FROM json_each(?)))")  # noqa: S608 - constants
        values += (json.dumps(list(with_empty)), limit + 1)
        where = f"{' AND '.join(conditions)} ORDER BY s.updated_at DESC, s.id LIMIT ?"
        sessions = self._read(where, *values)
        if len(sessions) <= limit:
            return SessionPage(sessions)
        return SessionPage(sessions[:limit], _cursor_after(sessions[limit - 1], mark))

    def children(self, session_id: str) -> tuple[SessionRecord, ...]:
        """The sessions of those who worked for a session as its sub-agents, oldest first; they are in no page."""
        return self._read(
            "s.parent_id = ?1 AND s.source = 'sub-agent' AND s.root_id = (SELECT root_id FROM sessions WHERE id = ?1)"  # noqa: S608 - a constant
            f" AND s.archived < {DELETING} ORDER BY s.created_at, s.id",
            plain_text(session_id),
        )

    def move(self, session_id: str, cwd: str, roots: Sequence[str]) -> None:
        """Let a session work elsewhere. The system prompt, which tells the model where it is, is made anew then.

        Raises:
            UnknownSession: there is no such session.
        """
        place = (path_text(cwd), roots_text(roots))
        sql = "cwd = ?, roots = ?, system_hash = CASE WHEN cwd = ? AND roots = ? THEN system_hash END"
        self._change(session_id, sql, (*place, *place))

    def update(
        self,
        session_id: str,
        own: Holder,
        *,
        mode: str | None = None,
        model: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Store what the person chose; None leaves it as it is. `options` takes the place of all earlier ones.

        Args:
            own: the process that they chose it in.

        Raises:
            UnknownSession: there is no such session.
            SessionInUse: another living process holds it.
        """
        stored = None if options is None else options_text(options)
        sql = "mode = coalesce(?, mode), model = coalesce(?, model), options = coalesce(?, options)"
        self._change(session_id, sql, (mode, model, stored), own)

    def name(self, session_id: str, title: str, source: TitleSource) -> bool:
        """Give a session a title, put on one line and cut if it is long.

        A person's words win over a model's, and those over the first prompt's; the later ones of a person or a model
        over the earlier.

        Returns:
            False where the session keeps the better one that it has, or nothing is left of `title`.

        Raises:
            UnknownSession: there is no such session.
        """
        cleaned = clean_title(title)
        with self.database.write() as connection:
            return bool(cleaned) and write_title(connection, session_id, cleaned, source)

    def archive(self, session_id: str, archived: bool) -> None:
        """Put a session aside, or take it back: it is listed apart.

        Raises:
            UnknownSession: there is no such session.
        """
        self._change(session_id, "archived = ?", (ARCHIVED if archived else IN_USE,))

    def fork(self, session_id: str, new: NewSession, until: str | None = None) -> SessionRecord:
        """A new session from what another holds, all of it or up to a message; `fork.copy_session` tells all.

        Raises:
            UnknownSession: there is no session `session_id`.
            RequestError: there is no message `until`, or a session `new.id` already.
        """

        def fork() -> SessionRecord:
            with self.database.write() as connection:
                copy_session(connection, session_id, new, until, self.database.clock())
                return read_record(connection, new.id)

        return read_sound(self.database, session_id, fork)

    def delete(self, session_id: str) -> bool:
        """Delete a session with all that belongs to it (its sub-agents' sessions too), but for the contents of files
        (`FileVersions.prune`).

        Let go of it in this process's store before. It is in no view from the beginning on, whatever happens then.

        Returns:
            True if there was one.

        Raises:
            SessionInUse: another living process holds it.
        """
        children = self.children(session_id)
        deleted = self._delete("s.id = ?", plain_text(session_id), own=this_process())
        for child in children:
            self.delete(child.id)
        return bool(deleted)

    def prune(self, before: float) -> tuple[str, ...]:
        """Delete the sessions that were not used since `before` and are neither archived nor held; their ids."""
        return self._delete(f"s.archived = {IN_USE} AND s.updated_at < ?", before)

    def drop_empty(self, before: float) -> int:
        """Delete the sessions without a turn that were made before `before` and are not held; how many.

        Commands alone are no turn. It finishes deletions, too, that a crash has left half done.
        """
        return len(self._delete(f"s.created_at < ? AND NOT {_HAS_TURN}", before))

    def transcript(self, session_id: str) -> Transcript:
        """Everything of a session that is in view. Damaged parts are left out or replaced by a note, and logged.

        Raises:
            UnknownSession: there is no such session.
        """
        return read_transcript(self.database, session_id)

    def _read(self, where: str, *values: object) -> tuple[SessionRecord, ...]:
        sql = f"SELECT {COLUMNS} FROM sessions AS s WHERE {where}"  # noqa: S608 - constants
        with self.database.read() as connection:
            return tuple(record_from(row) for row in connection.execute(sql, values))

    def _spellings(self, cwd: str) -> Sequence[str]:
        """How the directory is spelled where sessions work in it."""
        with self.database.read() as connection:
            stored = [row[0] for row in connection.execute("SELECT DISTINCT cwd FROM sessions")]
        # The disk may be slow: it is not asked while the database is read.
        return [place for place in stored if same_directory(path_from(place), cwd)]

    def _delete(self, condition: str, value: float | str, own: Holder | None = None) -> tuple[str, ...]:
        """Delete the sessions that fulfil a condition; their ids. Those that a living process holds stay.

        Args:
            own: this process, which may hold one itself; where another one does that is an error.
        """
        with self.database.read() as connection:
            query = f"SELECT s.id FROM sessions AS s WHERE s.archived < {DELETING} AND {condition}"  # noqa: S608
            rows = connection.execute(query, (value,)).fetchall()
        deleted = []
        for (session_id,) in rows:
            with self.database.write() as connection:
                # Looked at again: somebody may have gone on with it meanwhile.
                lease = f"{_LEASE} WHERE s.archived < {DELETING} AND s.id = ? AND {condition}"
                row, now = connection.execute(lease, (session_id, value)).fetchone(), self.database.clock()
                if row is None:
                    continue
                holder = holder_of(*row)
                if holder is not None and own is not None and (holder.pid, holder.started) != (own.pid, own.started):
                    refuse_living(holder, session_id, now, "deleted")
                elif holder is not None and own is None and is_alive(holder, now):
                    continue
                connection.execute(_MARK, (DELETING, session_id))
            deleted.append(session_id)
        finish_deletes(self.database, self._pause)
        return tuple(deleted)

    def _change(self, session_id: str, assignments: str, values: Sequence[object], own: Holder | None = None) -> None:
        sql = f"UPDATE sessions SET {assignments} WHERE id = ? AND archived < ?"  # noqa: S608 - constants
        with self.database.write() as connection:
            if own is not None:
                refuse_others(connection, plain_text(session_id), own, self.database.clock(), "changed")
            if connection.execute(sql, (*values, plain_text(session_id), DELETING)).rowcount == 0:
                raise UnknownSession(session_id)
