"""What files were before a session changed them, kept for a person who takes a turn back, and kept within bounds."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.blobs import BlobFile, BlobStore
from agent_core.sessions.checkpoints.file_states import PRUNED
from agent_core.sessions.checkpoints.writer import CallHistory, Keeper, Note, VersionLimits
from agent_core.sessions.database import Database
from agent_core.sessions.schema import files_of
from tools.changes.facts import ContentCache

__all__ = ["FileVersions", "VersionLimits"]


# A content is deleted within a transaction that has just seen that no row refers to it, and only if it was not used
# for an hour. Whoever keeps a content commits its row and then looks whether the content is still there. So one of
# the two sees the other, whatever the order.

_GRACE = 3600.0
_DAY = 86_400.0
_ROWS_AT_ONCE = 500
_FILES_AT_ONCE = 100
_Item = TypeVar("_Item")


def _too_old(database: Database, before: float) -> list[int]:
    with database.read() as connection:
        rows = connection.execute(
            "SELECT id FROM file_versions WHERE created_at < ? AND before_hash IS NOT NULL AND lost = ''", (before,)
        )
        return [row[0] for row in rows]


def _too_much(database: Database, files: dict[str, BlobFile], max_bytes: int) -> list[int]:
    """The rows of the oldest turns, as many as must lose their content so that the rest fits."""
    with database.read() as connection:
        rows = connection.execute(
            "SELECT id, session_id, turn, before_hash FROM file_versions WHERE before_hash IS NOT NULL AND lost = ''"
        ).fetchall()
    users = Counter(row[3] for row in rows)
    total = sum(files[name].size for name in users if name in files)
    oldest: dict[tuple[str, int], int] = {}
    for row_id, session_id, turn, _ in rows:
        oldest[session_id, turn] = min(row_id, oldest.get((session_id, turn), row_id))
    rows.sort(key=lambda row: (oldest[row[1], row[2]], row[0]))
    marked: list[int] = []
    for _, turn_rows in groupby(rows, key=lambda row: (row[1], row[2])):
        if total <= max_bytes:
            break
        for row_id, _, _, name in turn_rows:
            marked.append(row_id)
            users[name] -= 1
            if not users[name] and name in files:
                total -= files[name].size
    return marked


def _mark(database: Database, rows: Sequence[int]) -> None:
    for batch in _batches(rows, _ROWS_AT_ONCE):
        with database.write() as connection:
            connection.executemany(
                "UPDATE file_versions SET lost = ? WHERE id = ?", [(PRUNED, row_id) for row_id in batch]
            )


def _without_row(database: Database, hashes: Sequence[str]) -> list[str]:
    with database.read() as connection:
        rows = connection.execute("SELECT DISTINCT before_hash FROM file_versions WHERE lost = ''")
        used = {row[0] for row in rows}
    return [name for name in hashes if name not in used]


def _batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


_SESSIONS_WITH_CACHE = 4


class FileVersions:
    """Gives each tool call the history that it reports to. One for a process; safe for threads.

    Undo can bring back what was kept here and nothing else. Kept is every file right before an editing tool changes
    it; and for a command, what its text names before it runs, and what else of the session's directories it is found
    to have changed. What another program changes in them while a command runs looks like the command's change.

    Args:
        note: takes what is noted about changes, in order with all else that a session stores.
        limits: how much is kept.
    """

    def __init__(self, database: Database, blobs: BlobStore, note: Note, limits: VersionLimits | None = None) -> None:
        self._database = database
        self._keeper = Keeper(note, blobs, limits or VersionLimits(), database.clock)
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
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT before_hash FROM file_versions"
                " WHERE session_id = ? AND before_hash IS NOT NULL AND lost = ''",
                (session_id,),
            )
            return tuple(row[0] for row in rows)

    def contents_unused_since(self, before: float) -> tuple[str, ...]:
        """The hashes of the contents that sessions keep which were not used since `before` (seconds since the epoch).

        Raises:
            StoreError: the database cannot be read.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT kept.before_hash FROM file_versions kept JOIN sessions ON sessions.id ="
                " kept.session_id WHERE sessions.updated_at < ? AND kept.before_hash IS NOT NULL AND kept.lost = ''",
                (before,),
            )
            return tuple(row[0] for row in rows)

    def drop(self, hashes: Sequence[str]) -> int:
        """Delete those contents that no session keeps any more; how many.

        Raises:
            StoreError: the database or the contents cannot be changed.
        """
        dropped = 0
        for batch in _batches(hashes, _FILES_AT_ONCE):
            with self._database.write() as connection:
                for name in batch:
                    query = "SELECT 1 FROM file_versions WHERE before_hash = ? AND lost = '' LIMIT 1"
                    if connection.execute(query, (name,)).fetchone() is None:
                        self._keeper.blobs.drop(name)
                        dropped += 1
        return dropped

    def prune(self) -> int:
        """Drop contents beyond the limits, of the oldest turns first, and those that nothing refers to any more.

        Returns:
            How many contents were deleted.

        Raises:
            StoreError: the database or the contents cannot be read or changed.
        """
        database, blobs, limits, now = self._database, self._keeper.blobs, self._keeper.limits, self._database.clock()
        try:
            files = {file.hash: file for file in blobs.files()}
            _mark(database, _too_old(database, now - limits.max_age_days * _DAY))
            _mark(database, _too_much(database, files, limits.max_total_bytes))
            blobs.drop_leftovers(now - _GRACE)
            old = [file.hash for file in files.values() if file.used_at < now - _GRACE]
            return self.drop(_without_row(database, old))
        except OSError as problem:
            raise StoreError(
                f"Earlier versions of files could not be cleaned up in {blobs.root}: {problem.strerror or problem}."
            ) from problem

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
