"""`SqliteRecall`: what was said in earlier sessions, from the database."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Iterator

from agent_core.errors import StoreError
from agent_core.sessions.archive.session_rows import IN_USE
from agent_core.sessions.database.database import Database
from agent_core.sessions.search import reading
from agent_core.sessions.search.index import index_pending, unsearched
from agent_core.sessions.search.matching import matches, sessions_of
from agent_core.sessions.search.query import Words, parse
from agent_core.sessions.search.reading import Bounds, Marks
from tools.agent_ports import RecalledSession, RecallQuery
from tools.errors import ToolError

log = logging.getLogger(__name__)

_MOST_INDEXED = 100_000
_FOUND = Bounds(hit=1_500, other=500)
_READ = Bounds(hit=4_000, other=4_000)
_GLANCE = Bounds(hit=300, other=300)
_FIRST_MESSAGES = 2
_LATEST = f"""
    SELECT id FROM sessions WHERE archived = {IN_USE} AND turns_begun > 0 AND source != 'sub-agent'
    ORDER BY updated_at DESC, id
"""  # noqa: S608 - constants


class SqliteRecall:
    """Searches and reads stored sessions; implements `SessionRecall`. Blocking and thread-safe.

    Args:
        indexing: seconds that a search takes at most to make messages searchable that are not yet.
    """

    def __init__(self, database: Database, *, indexing: float = 0.05) -> None:
        self._database = database
        self._indexing = indexing

    def search(self, query: RecallQuery) -> tuple[RecalledSession, ...]:
        """Sessions in which the words were found, one of each line of forks; those of every directory, archived too.

        All words have to be in one message; where there is no such message, any of them. What was stored just now is
        made searchable first, but for no longer than a moment: see `unsearched`.

        Raises:
            ToolError: the query says nothing, or the sessions cannot be read.
        """
        words = parse(query.text)
        self._index()
        with self._reading() as connection:
            return self._search(connection, query, words)

    def around(self, session_id: str, message_id: int, window: int) -> RecalledSession:
        """The messages before and after one, `window` of each.

        Args:
            message_id: FIRST (0) for the session's first `window` messages, LAST (-1) for its last ones.

        Raises:
            ToolError: there is no such session or message, or they cannot be read.
        """
        with self._reading() as connection:
            messages = reading.window(connection, session_id, message_id, window, _READ)
            if any(message.id == message_id for message in messages):
                messages = reading.with_answer(connection, session_id, message_id, messages, _READ)
            found = reading.session(connection, session_id, messages)
        if found is None:
            raise ToolError(f"There is no session {session_id!r}. Search for words to get the ids of sessions.")
        if message_id in {reading.FIRST, reading.LAST}:
            return found
        if all(message.id != message_id for message in messages):
            raise ToolError(
                f"The session {session_id!r} has no message {message_id} that could be shown. "
                "Take an id from what a search told, or leave it out to read the session's beginning and end."
            )
        return found

    def latest(self, limit: int) -> tuple[RecalledSession, ...]:
        """The sessions that were used last, without archived ones, each with its first messages.

        Raises:
            ToolError: they cannot be read.
        """
        told: list[RecalledSession] = []
        with self._reading() as connection:
            for (session_id,) in connection.execute(_LATEST):
                if len(told) >= limit:
                    break
                messages = reading.window(connection, session_id, reading.FIRST, _FIRST_MESSAGES, _GLANCE)
                found = reading.session(connection, session_id, messages) if messages else None
                if found is not None:
                    told.append(found)
        return tuple(told)

    def unsearched(self) -> int:
        """About how many stored messages a search does not find yet, because there was no time to index them.

        Raises:
            ToolError: the sessions cannot be read.
        """
        with _told_to_the_model():
            return unsearched(self._database)

    def _search(
        self, connection: sqlite3.Connection, query: RecallQuery, words: Words
    ) -> tuple[RecalledSession, ...]:
        now = self._database.clock()
        found = matches(connection, words.all_of_them(query.roles), query.not_in, now)
        if not found and len(words.wanted) > 1:
            found = matches(connection, words.any_of_them(query.roles), query.not_in, now)
        pattern = words.pattern()
        told: list[RecalledSession] = []
        for hit in sessions_of(connection, found, query.sort, query.limit):
            marks = Marks(hit.message_ids, pattern)
            messages = reading.window(connection, hit.session_id, hit.best, query.window, _FOUND, marks=marks)
            messages = reading.with_answer(connection, hit.session_id, hit.best, messages, _FOUND)
            session = reading.session(connection, hit.session_id, messages, hits=len(hit.message_ids))
            if session is not None:
                told.append(session)
        return tuple(told)

    def _index(self) -> None:
        try:
            index_pending(self._database, limit=_MOST_INDEXED, within=self._indexing, patience=self._indexing)
        except StoreError as problem:
            # What is indexed can be searched all the same; `unsearched` tells of the rest.
            log.warning("the search index could not be brought up to date: %s", problem)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with _told_to_the_model(), self._database.read() as connection:
            yield connection


@contextlib.contextmanager
def _told_to_the_model() -> Iterator[None]:
    try:
        yield
    except StoreError as problem:
        raise ToolError(f"The stored sessions cannot be read: {problem}") from problem
