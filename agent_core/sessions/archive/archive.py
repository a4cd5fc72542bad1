"""The stored sessions as a whole: made, found, listed, changed, forked, read and deleted."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agent_core.errors import UnknownSession
from agent_core.sessions.archive import deleting
from agent_core.sessions.archive.forking import copy_session
from agent_core.sessions.archive.listing import Selection, find_session, read_children, read_page, stored_places
from agent_core.sessions.archive.session_records import read_record
from agent_core.sessions.archive.session_rows import (
    ARCHIVED,
    DELETING,
    IN_USE,
    insert_new,
    options_text,
    path_from,
    path_text,
    roots_text,
    write_title,
)
from agent_core.sessions.archive.titles import TitleSource, clean_title
from agent_core.sessions.archive.transcripts import read_rows, read_turns, transcript_of
from agent_core.sessions.database.database import Database
from agent_core.sessions.events.stored_values import plain_text
from agent_core.sessions.live.leases import ProcessIdentity, read_holder, refuse_living
from agent_core.sessions.records import NewSession, SessionPage, SessionRecord, Transcript, TurnRecord
from agent_core.sessions.sound import read_sound, set_session_aside
from tools.os_compat import same_directory


class SessionArchive:
    """The sessions in `database`. Safe to use from several threads; every method blocks, and may raise StoreError.

    Args:
        pause: how to wait while a large session is deleted, so that others may write.
    """

    def __init__(self, database: Database, pause: deleting.Pause = time.sleep) -> None:
        self.database = database
        self._pause = pause

    def create(self, new: NewSession) -> None:
        """Store a new session; one that exists is left as it is."""
        with self.database.write() as connection:
            if insert_new(connection, new, self.database.clock()) or not deleting.is_marked(connection, new.id):
                return
        deleting.finish_deletes(self.database, self._pause)  # the id's earlier session is still on its way out
        with self.database.write() as connection:
            insert_new(connection, new, self.database.clock())

    def get(self, session_id: str) -> SessionRecord:
        """A session's record.

        Raises:
            UnknownSession: there is no such session.
        """
        record = self._get(session_id)
        if record.is_damaged:  # what is chosen next would take its place
            set_session_aside(self.database, session_id)
        return record

    def _get(self, session_id: str) -> SessionRecord:
        with self.database.read() as connection:
            return read_record(connection, session_id)

    def find(self, beginning: str) -> SessionRecord:
        """The session with this id, or the only one whose id begins so: for people.

        Raises:
            UnknownSession: there is none.
            RequestError: there are several; the message names them.
        """
        with self.database.read() as connection:
            return find_session(connection, beginning)

    def page(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        archived: bool = False,
        with_empty: Collection[str] = (),
    ) -> SessionPage:
        """A page of sessions, the last used first; what a cursor promises is told in `listing`.

        Args:
            cwd: only those that work in this directory, however it was spelled when they were stored.
            cursor: `next_cursor` of the page before; cwd and archived must be the same.
            archived: those that were put aside, in place of the others.
            with_empty: ids of sessions that are told although they have no turn.

        Raises:
            RequestError: the cursor cannot be used.
        """
        spellings: Sequence[str] = () if cwd is None else self._spellings(cwd)
        with self.database.read() as connection:
            return read_page(connection, Selection(cwd, archived, spellings), cursor, limit, with_empty)

    def _spellings(self, cwd: str) -> Sequence[str]:
        with self.database.read() as connection:
            stored = stored_places(connection)
        # The disk may be slow: it is not asked while the database is read.
        return [place for place in stored if same_directory(path_from(place), cwd)]

    def children(self, session_id: str) -> tuple[SessionRecord, ...]:
        """The sessions of those who worked for a session as its sub-agents, oldest first; they are in no page."""
        with self.database.read() as connection:
            return read_children(connection, plain_text(session_id))

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
        own: ProcessIdentity,
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
        """A new session from what another holds, all of it or up to a message; `forking.copy_session` tells all.

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
        own, children = ProcessIdentity.current(), self.children(session_id)
        there_was = deleting.delete_session(self.database, plain_text(session_id), own, self._pause)
        for child in children:
            self.delete(child.id)
        return there_was

    def prune(self, before: float) -> tuple[str, ...]:
        """Delete the sessions that were not used since `before` and are neither archived nor held; their ids."""
        return deleting.delete_unused(self.database, before, self._pause)

    def drop_empty(self, before: float) -> int:
        """Delete the sessions without a turn that were made before `before` and are not held; how many.

        It finishes deletions, too, that a crash has left half done.
        """
        return len(deleting.delete_empty(self.database, before, self._pause))

    def turns(self, session_id: str) -> tuple[TurnRecord, ...]:
        """All turns of a session in order, with those that were taken back.

        Raises:
            UnknownSession: there is no such session.
        """
        with self.database.read() as connection:
            read_record(connection, session_id)
            return read_turns(connection, session_id)

    def transcript(self, session_id: str) -> Transcript:
        """Everything of a session that is in view. Damaged parts are left out or replaced by a note, and logged.

        Raises:
            UnknownSession: there is no such session.
        """
        with self.database.read() as connection:
            rows = read_rows(connection, session_id)
        return transcript_of(rows)

    def story(self, session_id: str) -> Transcript:
        """What of a transcript shows the session again: messages only of turns without events.

        Raises:
            UnknownSession: there is no such session.
        """
        with self.database.read() as connection:
            rows = read_rows(connection, session_id, all_messages=False)
        return transcript_of(rows)

    def _change(
        self, session_id: str, assignments: str, values: Sequence[object], own: ProcessIdentity | None = None
    ) -> None:
        sql = f"UPDATE sessions SET {assignments} WHERE id = ? AND archived < ?"  # noqa: S608 - constants
        with self.database.write() as connection:
            if own is not None:
                holder = read_holder(connection, plain_text(session_id))
                if holder is not None and holder.token != own.token:
                    refuse_living(holder, session_id, self.database.clock(), "changed")
            if connection.execute(sql, (*values, plain_text(session_id), DELETING)).rowcount == 0:
                raise UnknownSession(session_id)
