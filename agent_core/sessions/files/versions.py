"""What files were before a session changed them: kept for a person who takes a turn back."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from agent_core.sessions.database.database import Database
from agent_core.sessions.database.file_header import files_of
from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.call_history import CallHistory
from agent_core.sessions.files.keeping import Keeper, Queue, VersionLimits
from agent_core.sessions.files.pruning import contents_of, contents_unused_since, drop_unreferenced, prune
from tools.changes.facts import ContentCache

__all__ = ["FileVersions", "VersionLimits"]

_SESSIONS_WITH_CACHE = 4


class FileVersions:
    """Gives each tool call the history that it reports to. One for a process; safe for threads.

    Undo can bring back what was kept here and nothing else. Kept is every file right before an editing tool changes
    it; and for a command, what its text names before it runs, and what else of the session's directories it is found
    to have changed. What another program changes in them while a command runs looks like the command's change.

    Args:
        queue: takes what is noted about changes, in order with all else that a session stores.
        limits: how much is kept.
    """

    def __init__(
        self, database: Database, blobs: BlobStore, queue: Queue, limits: VersionLimits | None = None
    ) -> None:
        self._database = database
        self._keeper = Keeper(queue, blobs, limits or VersionLimits(), database.clock)
        self._lock = threading.Lock()
        self._caches: OrderedDict[str, ContentCache] = OrderedDict()

    def for_call(self, session_id: str, turn_id: str, call_id: str, roots: tuple[Path, ...]) -> CallHistory:
        """The history of one tool call. It never raises.

        Args:
            roots: the session's directories.
        """
        return CallHistory(
            self._keeper, session_id, turn_id, _sound(call_id), roots, self._cache(session_id), self._skipped(roots)
        )

    def forget(self, session_id: str) -> None:
        """Free the memory that helps to see a session's changes quickly."""
        with self._lock:
            self._caches.pop(session_id, None)

    def contents_of(self, session_id: str) -> tuple[str, ...]:
        """The hashes of the contents that a session keeps.

        Raises:
            StoreError: the database cannot be read.
        """
        return contents_of(self._database, session_id)

    def contents_unused_since(self, before: float) -> tuple[str, ...]:
        """The hashes of the contents that sessions keep which were not used since `before` (seconds since the epoch).

        Raises:
            StoreError: the database cannot be read.
        """
        return contents_unused_since(self._database, before)

    def drop(self, hashes: Sequence[str]) -> None:
        """Delete those contents that no session keeps any more.

        Raises:
            StoreError: the database or the contents cannot be changed.
        """
        drop_unreferenced(self._database, self._keeper.blobs, hashes)

    def prune(self) -> int:
        """Drop contents beyond the limits, of the oldest turns first, and those that nothing refers to any more.

        Returns:
            How many contents were deleted.

        Raises:
            StoreError: the database or the contents cannot be read or changed.
        """
        return prune(self._database, self._keeper.blobs, self._keeper.limits)

    def _cache(self, session_id: str) -> ContentCache:
        with self._lock:
            cache = self._caches.pop(session_id, None) or ContentCache()
            self._caches[session_id] = cache
            if len(self._caches) > _SESSIONS_WITH_CACHE:
                self._caches.popitem(last=False)
            return cache

    def _skipped(self, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        home = self._database.path.parent
        # A session may work on the home's own files (settings, skills): then only what is the store's is left out.
        inside = any(root == home or home in root.parents for root in roots)
        blobs = self._keeper.blobs.root
        return (blobs, *files_of(self._database.path)) if inside else (home, blobs)


def _sound(text: str) -> str:
    return text.encode(errors="replace").decode()  # ids come from models: SQLite takes UTF-8 only
