"""Keeps contents and writes rows about them, without ever holding up or failing the change that they are about."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from agent_core.errors import StoreError
from agent_core.sessions.database.database import Database
from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.looking import FileState, kept_mode, sha256
from agent_core.sessions.files.paths import shown_path
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_PATIENCE = 0.5
# While the database cannot be written, each change must not pay for finding that out again.
_LEFT_ALONE = 2.0
_MOST_WAITING = 1000

Action = Callable[[sqlite3.Connection], None]
"""Writes rows, in a transaction of its own or with others. It may be run again if that was rolled back."""


@dataclass(frozen=True, slots=True)
class VersionLimits:
    """How much is kept of what files were.

    Attributes:
        max_file_bytes: a larger file is not kept.
        max_total_bytes: of all kept contents, as they lie on disk.
        max_age_days: contents are dropped when they are older.
    """

    max_file_bytes: int = 50_000_000
    max_total_bytes: int = 1 << 30
    max_age_days: float = 90.0


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file is, and why that could not be kept ('' if it was)."""

    state: FileState
    lost: str = ""


class Keeper:
    """Shared by all calls of a process; safe for threads.

    Rows that cannot be written now wait in memory, in order, and are tried again with the next ones.

    Args:
        timer: seconds that only go forward.
    """

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        limits: VersionLimits,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self.database = database
        self.blobs = blobs
        self.limits = limits
        self._timer = timer
        self._lock = threading.Lock()
        self._waiting: deque[Action] = deque()
        self._again_at: float | None = None
        self._logged = False

    def keep(self, path: Path, content: bytes, mode: int | None) -> Kept:
        """Keep what is at `path`. Never raises."""
        most = self.limits.max_file_bytes
        if len(content) > most:
            lost = f"it was too large to keep ({len(content):,} bytes; up to {most:,} are kept)"
            return Kept(FileState(sha256(content), kept_mode(mode)), lost)
        try:
            return Kept(FileState(self.blobs.put(content), kept_mode(mode)))
        except StoreError as problem:
            log.warning("What %s was is not kept: %s", shown_path(path), problem)
            return Kept(FileState(sha256(content), kept_mode(mode)), f"it could not be kept. {problem}")

    def make_sure(self, name: str | None, content: bytes) -> None:
        """Keep `content`, whose hash is `name`, again if it was dropped before its row was there. Never raises."""
        try:
            if name is None or not self.blobs.has(name):
                self.blobs.put(content)
        except StoreError as problem:
            log.warning("What a file was may not be kept: %s", problem)

    def write(self, action: Action) -> bool:
        """Run `action` in a transaction now, or remember it for later. True if nothing is left waiting."""
        with self._lock:
            self._waiting.append(action)
            while len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft()
            if self._again_at is not None and self._timer() < self._again_at:
                return False
            return self._flush()

    def flush(self) -> bool:
        """Write what is waiting. True if nothing is left."""
        with self._lock:
            return not self._waiting or self._flush()

    def _flush(self) -> bool:
        try:
            with self.database.write(patience=_PATIENCE) as connection:
                for action in self._waiting:
                    action(connection)
        except StoreError as problem:
            self._again_at = self._timer() + _LEFT_ALONE
            if not self._logged:
                self._logged = True
                log.warning("What files were cannot be noted at the moment: %s", problem)
            return False
        except BaseException:
            self._waiting.pop()  # an action that cannot be run must not keep back those before and after it
            raise
        self._waiting.clear()
        self._again_at, self._logged = None, False
        return True
