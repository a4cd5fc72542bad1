"""What goes on behind the turns of sessions, kept in the database: stored in order with what the turns store."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.background.news import News
from agent_core.background.tasks import TaskInfo
from agent_core.sessions.background.rows import read_news, read_tasks
from agent_core.sessions.database.database import Database
from agent_core.sessions.live.operations import DropNews, KeepNews, KeepTask
from agent_core.sessions.live.sqlite_store import SqliteSessionStore


class KeptBackground:
    """News that are not delivered, and tasks. Blocking, thread-safe."""

    def __init__(self, database: Database, store: SqliteSessionStore) -> None:
        self._database = database
        self._store = store

    def keep_news(self, session_id: str, news: News) -> None:
        """Store one, until a message that tells of it is stored."""
        self._store.note(session_id, KeepNews(news))

    def drop_news(self, session_id: str, news: Sequence[News]) -> None:
        """Forget some that need no message any more."""
        self._store.note(session_id, DropNews(tuple(each.id for each in news)))

    def keep_task(self, session_id: str, task: TaskInfo) -> None:
        """Store a task as it is now."""
        self._store.note(session_id, KeepTask(task))

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
