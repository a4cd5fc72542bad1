"""Remembers outlines between calls, sessions and processes: one SQLite file that may be thrown away at any time."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.outline.model import BadOutline, Outline, unpacked

log = logging.getLogger(__name__)

FILE_NAME = "outlines.db"

_VERSION = 4  # of the queries and of the packed form: with another one everything is made anew
_LOCK_SECONDS = 2.0
_DAY = 86_400
_KEEP_DAYS = 30
_MAX_ROWS = 50_000
_TABLE = (
    "CREATE TABLE IF NOT EXISTS outlines (path BLOB PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL,"
    " used INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """By which a file's content is taken for the same: its time of change and its size in bytes."""

    mtime_ns: int
    size: int


class OutlineCache:
    """Outlines by path and stamp. Whatever goes wrong with the file costs time, and no call.

    Args:
        folder: where its file is; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / FILE_NAME

    def load(self, root: Path, stamps: Mapping[Path, Stamp]) -> dict[Path, Outline]:
        """What is known of those files below `root`, or of `root` itself, that are as they were."""
        if not stamps or self._file is None:
            return {}
        first, last = os.fsencode(root), os.fsencode(root) + b"/\xff"
        query = "SELECT path, mtime_ns, size, body FROM outlines WHERE path BETWEEN ? AND ?"
        found: dict[Path, Outline] = {}
        with self._tolerant(), _connected(self._file) as connection:
            for name, mtime_ns, size, body in connection.execute(query, (first, last)):
                path = Path(os.fsdecode(name))
                if stamps.get(path) == Stamp(mtime_ns, size):
                    with contextlib.suppress(BadOutline):
                        found[path] = unpacked(body)
        return found

    def store(self, fresh: Mapping[Path, tuple[Stamp, Outline]], used: Iterable[Path]) -> None:
        """Keep the `fresh` ones, and longer those that were `used`."""
        if self._file is None:
            return
        today = int(time.time()) // _DAY
        rows = [
            (os.fsencode(path), stamp.mtime_ns, stamp.size, today, outline.packed())
            for path, (stamp, outline) in fresh.items()
        ]
        with self._tolerant(), _connected(self._file) as connection:
            connection.executemany("INSERT OR REPLACE INTO outlines VALUES (?, ?, ?, ?, ?)", rows)
            connection.executemany(
                "UPDATE outlines SET used = ? WHERE path = ? AND used < ?",
                [(today, os.fsencode(path), today) for path in used],
            )
            if rows:
                _prune(connection, today)

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as problem:
            log.info("the cache of outlines is not used: %s", problem)  # another process has it, the disk is full
        except (sqlite3.Error, OSError, ValueError, TypeError) as problem:
            log.warning("the cache of outlines is damaged and made anew: %s", problem)
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.unlink()


@contextlib.contextmanager
def _connected(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose work is one transaction."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.touch(mode=0o600)  # it tells what is in the user's files
    with contextlib.closing(sqlite3.connect(file, timeout=_LOCK_SECONDS)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
            connection.execute("DROP TABLE IF EXISTS outlines")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute(_TABLE)
        yield connection


def _prune(connection: sqlite3.Connection, today: int) -> None:
    connection.execute("DELETE FROM outlines WHERE used < ?", (today - _KEEP_DAYS,))
    count = connection.execute("SELECT count(*) FROM outlines").fetchone()[0]
    if count > _MAX_ROWS:
        connection.execute(
            "DELETE FROM outlines WHERE path IN (SELECT path FROM outlines ORDER BY used LIMIT ?)",
            (count - _MAX_ROWS,),
        )
