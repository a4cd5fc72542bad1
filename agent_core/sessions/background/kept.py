"""What goes on behind the turns of sessions, kept in the database. Storing never fails: what cannot be, is logged."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence

from agent_core.background.news import News
from agent_core.background.tasks import TaskInfo
from agent_core.errors import StoreError
from agent_core.sessions.background.rows import delete_news, insert_news, read_news, read_tasks, write_task
from agent_core.sessions.database.database import Database

log = logging.getLogger(__name__)


class KeptBackground:
    """News that are not delivered, and tasks. Blocking, thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep_news(self, session_id: str, news: News) -> None:
        """Store one, until a message that tells of it is stored."""
        self._write(session_id, lambda connection: insert_news(connection, session_id, news))

    def drop_news(self, session_id: str, news: Sequence[News]) -> None:
        """Forget some that need no message any more."""
        self._write(session_id, lambda connection: delete_news(connection, session_id, [each.id for each in news]))

    def keep_task(self, session_id: str, task: TaskInfo) -> None:
        """Store a task as it is now."""
        self._write(session_id, lambda connection: write_task(connection, session_id, task))

    def news(self, session_id: str) -> list[News]:
        """What was not delivered, oldest first.

        Raises:
            StoreError: it cannot be read.
        """
        with self._database.read() as connection:
            return read_news(connection, session_id)

    def tasks(self, session_id: str) -> list[TaskInfo]:
        """The tasks as they were stored, oldest first.

        Raises:
            StoreError: they cannot be read.
        """
        with self._database.read() as connection:
            return read_tasks(connection, session_id)

    def _write(self, session_id: str, change: Callable[[sqlite3.Connection], None]) -> None:
        try:
            with self._database.write() as connection:
                change(connection)
        except StoreError:
            log.warning("what goes on behind session %s could not be stored", session_id, exc_info=True)
