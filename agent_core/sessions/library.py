"""Everything about stored sessions of one home, put together: one database, one store of files' earlier contents."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.errors import HermesError, StoreError, UnknownSession
from agent_core.home import Home
from agent_core.sessions.archive import SessionArchive
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.database import Database
from agent_core.sessions.leases import is_alive, refuse_others
from agent_core.sessions.records import SessionRecord
from agent_core.sessions.store import SessionStore, Unsaved
from tools.agent_ports import SessionRecall

if TYPE_CHECKING:
    from agent_core.sessions.checkpoints.undo import Rewinder
    from agent_core.sessions.checkpoints.versions import FileVersions


# Files with the outputs that were too long to show: a directory for each session, a file for each tool call.

log = logging.getLogger(__name__)

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_HASH_LENGTH = 32
_MAX_AGE = 7 * 86_400.0


class SavedOutputs:
    """The files below `root`. They go with their session or after seven days; its model may read them too."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock

    def directory_of(self, session_id: str) -> Path:
        """Where all outputs of a session go; nothing is made."""
        return self._root / _file_name(session_id)

    def file_of(self, session_id: str, call_id: str) -> Path:
        """Where the output of a call goes; nothing is made."""
        return self.directory_of(session_id) / f"{_file_name(call_id)}.txt"

    def transcript_of(self, session_id: str) -> Path:
        """Where the conversation goes that hooks may read; nothing is made."""
        return self.directory_of(session_id) / "transcript.jsonl"

    def drop(self, session_id: str) -> None:
        """Remove the files of a session; what cannot be removed is left for `prune`."""
        shutil.rmtree(self.directory_of(session_id), ignore_errors=True)

    def prune(self) -> int:
        """Remove what was not written for seven days; how many files."""
        before, dropped = self._clock() - _MAX_AGE, 0
        for directory in self._root.glob("*/"):
            for file in (*directory.glob("*.txt"), *directory.glob("*.jsonl")):
                dropped += _drop_if_old(file, before)
            try:
                directory.rmdir()
            except OSError:  # it has newer files
                continue
        return dropped


def _drop_if_old(file: Path, before: float) -> bool:
    try:
        if file.lstat().st_mtime >= before:
            return False
        file.unlink()
    except OSError as problem:
        log.warning("the old output %s could not be removed: %s", file, problem.strerror)
        return False
    return True


def _file_name(given: str) -> str:
    """Ids come from models and editors: only harmless ones are names as they are."""
    if _PLAIN_NAME.fullmatch(given):
        return given
    return hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]


_DAY = 86_400.0


class SessionLibrary:
    """The parts. All of them block; none is used on the event loop.

    What not every session needs is loaded at its first use.
    """

    def __init__(self, home: Home) -> None:
        """Take the sessions of `home`; nothing is read or written before the first use."""
        self.database = Database(home.database)
        self.archive = SessionArchive(self.database)
        self._blobs = BlobStore(home.blobs)
        self.outputs = SavedOutputs(home.outputs)
        self._began = self.database.clock()
        self._lock = threading.Lock()
        self._files: FileVersions | None = None
        self._tidy_at = 0.0
        self.store = SessionStore(self.database, idle_jobs=(self._index, self._tidy_up))

    @property
    def files(self) -> FileVersions:
        """What files were before they were changed."""
        from agent_core.sessions.checkpoints.versions import FileVersions  # noqa: PLC0415 - with the first tool call

        with self._lock:
            if self._files is None:
                self._files = FileVersions(self.database, self._blobs, self.store.note)
            return self._files

    @property
    def rewinder(self) -> Rewinder:
        """Takes turns back."""
        from agent_core.sessions.checkpoints.undo import Rewinder  # noqa: PLC0415 - with the first undo

        return Rewinder(self.database, self._blobs)

    @property
    def recall(self) -> SessionRecall:
        """Searches all sessions."""
        from agent_core.sessions.search import SqliteRecall  # noqa: PLC0415 - with the first search

        return SqliteRecall(self.database)

    def runs_elsewhere(self, session: SessionRecord) -> bool:
        """Whether another living process prompts the session."""
        holder = session.holder
        if holder is None or holder.token == self.store.identity.token:
            return False
        return is_alive(holder, self.database.clock())

    def warm(self) -> None:
        """Load what the first tool call needs."""
        _ = self.files

    def take(self, session_id: str, cwd: str, roots: tuple[str, ...]) -> None:
        """Have a session that this process is about to prompt, working where it was loaded.

        What it keeps may be read from now on: no other process changes it. Where that cannot be stored, nothing
        happens, and the turn goes on in memory.

        Raises:
            UnknownSession: there is no such session (any more).
            SessionInUse: another living process prompts it; nothing was changed.
        """
        try:
            self.store.take_lease(session_id)
            self.move(session_id, cwd, roots)
        except StoreError:
            log.warning("session %s could not be taken", session_id, exc_info=True)

    def move(self, session_id: str, cwd: str, roots: tuple[str, ...]) -> None:
        """Let a session work elsewhere, unless another living process works with it.

        Raises:
            UnknownSession: there is no such session. StoreError: it cannot be read or written.
        """
        record = self.archive.get(session_id)
        if (record.cwd, record.roots) != (cwd, roots) and not self.runs_elsewhere(record):
            self.archive.move(session_id, cwd, roots)

    def refuse_held(self, session_id: str, what: str = "prompted") -> None:
        """Do nothing where no other living process prompts the session, or there is none of that id.

        Args:
            what: what cannot be done to it then, for the error.

        Raises:
            SessionInUse: one does. StoreError: that cannot be seen.
        """
        with contextlib.suppress(UnknownSession), self.database.read() as connection:
            refuse_others(connection, session_id, self.store.identity, self.database.clock(), what)

    def unload(self, session_id: str) -> None:
        """Free what is kept of a session in memory, and let other processes prompt it."""
        self.store.release(session_id)
        if self._files is not None:
            self._files.forget(session_id)

    def remember(self, session_id: str, **changes: Any) -> None:
        """Store what the person chose for a session (as `SessionArchive.update`); a failure is logged only.

        Nothing is stored where another living process has the session.
        """
        try:
            self.archive.update(session_id, self.store.identity, **changes)
        except HermesError:
            log.warning("a choice of session %s could not be stored", session_id, exc_info=True)

    def delete(self, session_id: str) -> bool:
        """Remove a session and every trace of it; False without one of that id.

        Raises:
            SessionInUse: another living process prompts it. StoreError: it could not be removed.
        """
        there_was = False
        with contextlib.suppress(UnknownSession):
            self.unload(session_id)
            contents = self.files.contents_of(session_id)
            workers = [each.id for each in self.archive.children(session_id)]
            there_was = self.archive.delete(session_id)
            self.files.drop(contents)
            self.outputs.drop(session_id)
            for gone in (session_id, *workers):
                self.store.drop_unsaved(gone)
        return there_was

    def prune(self, before: float) -> tuple[str, ...]:
        """Remove the sessions that were not used since `before` and are neither archived nor held; their ids.

        Args:
            before: seconds since the epoch.

        Raises:
            StoreError: one could not be removed.
        """
        contents = self.files.contents_unused_since(before)
        deleted = self.archive.prune(before)
        self.files.drop(contents)
        for session_id in deleted:
            self.outputs.drop(session_id)
            self.store.drop_unsaved(session_id)
        return deleted

    def close(self) -> Unsaved:
        """Write what is left, and let other processes have the sessions; what could not be written."""
        unsaved = self.store.close()
        self.database.close()
        return unsaved

    def _index(self) -> bool:
        from agent_core.sessions.search_index import index_pending  # noqa: PLC0415 - while nothing else is to do

        return index_pending(self.database) > 0

    def _tidy_up(self) -> None:
        """Remove, once a day, what killed processes have left half done, sessions that were opened and never used,
        and what files and long outputs were too long ago.
        """
        now = self.database.clock()
        if now < self._tidy_at:
            return
        self._tidy_at = now + _DAY
        from agent_core.sessions.checkpoints.restore import drop_half_written  # noqa: PLC0415 - once

        self.outputs.prune()
        try:
            drop_half_written(self.database, self._began)
            self.archive.drop_empty(now - _DAY)
            if not self.store.has_backlog():  # which may know of contents that no row refers to yet
                self.files.prune()
        except StoreError:
            log.warning("tidying up the sessions failed", exc_info=True)
