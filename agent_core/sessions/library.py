"""Everything about stored sessions of one home, put together: one database, one store of files' earlier contents."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import Any

from agent_core.errors import HermesError, StoreError, UnknownSession
from agent_core.home import Home
from agent_core.sessions.archive.archive import SessionArchive
from agent_core.sessions.database.database import Database
from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.versions import FileVersions
from agent_core.sessions.live.leases import is_alive
from agent_core.sessions.live.sqlite_store import SqliteSessionStore
from agent_core.sessions.records import SessionRecord
from agent_core.sessions.rewind.rewinder import Rewinder
from agent_core.sessions.search.index import index_pending
from agent_core.sessions.search.recall import SqliteRecall

log = logging.getLogger(__name__)

_DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SessionLibrary:
    """The parts. All of them block; none is used on the event loop."""

    database: Database
    store: SqliteSessionStore
    archive: SessionArchive
    files: FileVersions
    rewinder: Rewinder
    recall: SqliteRecall

    def runs_elsewhere(self, session: SessionRecord) -> bool:
        """Whether another living process prompts the session."""
        holder = session.holder
        if holder is None or holder.token == self.store.identity.token:
            return False
        return is_alive(holder, self.database.clock())

    def unload(self, session_id: str) -> None:
        """Free what is kept of a session in memory, and let other processes prompt it."""
        self.store.release(session_id)
        self.files.forget(session_id)

    def remember(self, session_id: str, **changes: Any) -> None:
        """Store what the person chose for a session (as `SessionArchive.update`); a failure is logged only."""
        try:
            self.archive.update(session_id, **changes)
        except HermesError:
            log.warning("a choice of session %s could not be stored", session_id, exc_info=True)

    def delete(self, session_id: str) -> None:
        """Remove a session and every trace of it; without one of that id nothing happens.

        Raises:
            SessionInUse: another living process prompts it. StoreError: it could not be removed.
        """
        with contextlib.suppress(UnknownSession):
            self.unload(session_id)
            self.archive.delete(session_id)
            self.files.prune()

    def close(self) -> None:
        """Write what is left, and let other processes have the sessions."""
        self.store.close()
        self.database.close()


def open_library(home: Home) -> SessionLibrary:
    """The sessions of `home`. Nothing is read or written before the first use."""
    database = Database(home.database)
    blobs = BlobStore(home.blobs)
    files = FileVersions(database, blobs)
    archive = SessionArchive(database)
    tidy = _Tidying(archive, files)
    store = SqliteSessionStore(database, idle_jobs=(lambda: index_pending(database) > 0, tidy.once))
    return SessionLibrary(database, store, archive, files, Rewinder(database, blobs), SqliteRecall(database))


@dataclass(slots=True)
class _Tidying:
    """What is done once in a process's life, while nothing else is to do."""

    archive: SessionArchive
    files: FileVersions
    done: bool = False

    def once(self) -> bool:
        """Remove sessions that were opened and never used, and what files were too long ago. Never asks for more."""
        if not self.done:
            self.done = True
            try:
                self.archive.drop_empty(self.archive.database.clock() - _DAY)
                self.files.prune()
            except StoreError:
                log.warning("tidying up the sessions failed", exc_info=True)
        return False
