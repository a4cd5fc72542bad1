"""The one file that every session is stored in, shared by threads and by processes."""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError
from agent_core.sessions.schema import (
    OpenFile,
    OpenOptions,
    connect,
    connect_in_memory,
    identity_of,
    open_reader,
    open_writer,
    prepare,
    version_of,
    wal_of,
)
from agent_core.sessions.store_errors import (
    busy_error,
    is_busy,
    is_fatal,
    newer_error,
    retried,
    store_error,
)
from tools import quick_json

# How messages and events lie in a column: JSON as text, compressed where it is long.

_LONG = 1024
# Only images are that long, and to compress their base64 takes seconds and gains little.
_HUGE = 1024 * 1024
_LEVEL = 1  # a message is packed while its turn waits
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(separators=(",", ":"))


def pack(value: object) -> str | bytes:
    """What to store for a JSON value: its text, or the text's zlib-compressed UTF-8 where it is long but not huge.

    NaN, infinities and lone surrogates, as models send them, come back as they were.

    Raises:
        TypeError: it is not a JSON value.
    """
    text = _ENCODER.encode(value)
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # lone surrogates: SQLite takes UTF-8 only
        text = _ASCII_ENCODER.encode(value)
        encoded = text.encode()
    return zlib.compress(encoded, _LEVEL) if _LONG <= len(encoded) < _HUGE else text


def unpack(stored: str | bytes) -> Any:
    """The value that `pack` was given.

    Raises:
        StoreError: it is damaged (kind corrupt).
    """
    try:
        return quick_json.loads(stored if isinstance(stored, str) else zlib.decompress(stored))
    except (ValueError, TypeError, RecursionError, zlib.error) as problem:
        raise StoreError(
            f"A stored part of the conversation is damaged ({type(problem).__name__}: {problem}). "
            "Run `hermes-acp doctor` to see what can be repaired.",
            kind="corrupt",
        ) from problem


_IDLE_READERS = 4
HUGE_LOG = 32 << 20


class Database:
    """The database at `path`. Thread-safe. Nothing is opened, and no file is touched, before the first use.

    Args:
        path: it is created (with its directory) for the user alone where it is missing.
        clock: seconds since the epoch, for those who store times.
        patience: seconds that a busy database is tried.
        options: how the file is opened.

    Attributes:
        set_aside: by session, what of it was damaged and was set aside, for the person; until a turn of it says so.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        patience: float = 5.0,
        options: OpenOptions | None = None,
    ) -> None:
        self.path = path
        self.clock = clock
        self.set_aside: dict[str, list[str]] = {}
        self._patience = patience
        self._options = options or OpenOptions()
        self._opening = threading.Lock()
        self._file: OpenFile | None = None
        self._write_lock = threading.Lock()
        self._writer: tuple[OpenFile, sqlite3.Connection] | None = None  # the write lock's holder's
        self._log: tuple[Path, tuple[int, int] | None] | None = None  # of the writer, which one it is
        self._write_thread: int | None = None
        self._pool_lock = threading.Lock()
        self._pool: list[tuple[OpenFile, sqlite3.Connection]] = []
        self._reading: list[int] = []  # the ids of threads within `read`
        self._is_closed = False

    @property
    def journal_mode(self) -> str:
        """«wal», or what is used instead where that is not possible; '' before the first use."""
        return self._file.journal_mode if self._file else ""

    @property
    def opened(self) -> OpenFile | None:
        """The file as it was found; another object once it had to be looked at anew."""
        return self._file

    @contextlib.contextmanager
    def write(self, patience: float | None = None) -> Iterator[sqlite3.Connection]:
        """One short transaction: committed at the end, rolled back on an exception. One at a time in this process.

        Args:
            patience: seconds that a busy database is tried, the database's own if left out.

        Raises:
            StoreError: it could not be begun, done or committed; `kind` says why.
            RuntimeError: this thread is already within `write` or `read`.
        """
        self._refuse_nesting()
        allowed = self._patience if patience is None else patience
        if self._writer is None:
            # A file of an earlier format may take long: nobody else is to find the database busy because of that.
            with self._faults_told(lambda: None, allowed):
                self._ready(time.monotonic() + allowed)
        deadline = time.monotonic() + allowed
        if not self._write_lock.acquire(timeout=allowed):
            raise busy_error(self.path, allowed)
        self._write_thread = threading.get_ident()
        try:
            with self._faults_told(self._drop_writer, allowed):
                connection = self._begin(deadline)
                try:
                    yield connection
                    retried(connection.commit, time.monotonic() + allowed)
                except BaseException:
                    self._roll_back(connection)
                    raise
        finally:
            self._write_thread = None
            self._release_writer()

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A consistent snapshot. Keep it short: without a write-ahead log nobody can commit meanwhile.

        Raises:
            StoreError: it could not be opened or read; `kind` says why.
        """
        thread = threading.get_ident()
        opened: list[sqlite3.Connection] = []
        with self._faults_told(lambda: _close_all(opened), self._patience):
            self._ready(time.monotonic() + self._patience)
            deadline = time.monotonic() + self._patience
            file, connection = self._take_reader(deadline)
            opened.append(connection)
            self._reading.append(thread)
            try:
                retried(lambda: self._begin_reading(connection), deadline)
                yield connection
                connection.rollback()
            except BaseException:
                connection.close()
                raise
            finally:
                self._reading.remove(thread)
        self._give_back(file, connection)

    def checkpoint(self) -> None:
        """Move what the write-ahead log holds into the database. It takes a while, and delays no transaction.

        A log that has become huge is emptied: call it at quiet times. Nothing happens where the database is in use by
        a checkpoint already, or not opened yet.

        Raises:
            StoreError: it could not be written.
        """
        file = self._file
        if file is None or file.journal_mode != "wal" or identity_of(self.path) != file.identity:
            return
        with (
            self._faults_told(lambda: None, 0),
            contextlib.closing(connect(self.path, "rw", self._options.vfs)) as connection,
        ):
            if version_of(connection) != self._options.newest:
                return  # a newer program's by now
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            with contextlib.suppress(FileNotFoundError):
                if wal_of(self.path).stat().st_size > HUGE_LOG:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def close(self) -> None:
        """Close what is open, after the transaction that runs. A later use opens it for itself alone."""
        self._is_closed = True
        has_lock = self._write_lock.acquire(timeout=self._patience)
        try:
            with self._opening:
                self._file = None
            self._empty_pool()
            if has_lock:
                self._drop_writer()
        finally:
            if has_lock:
                self._write_lock.release()

    def _refuse_nesting(self) -> None:
        thread = threading.get_ident()
        if self._write_thread == thread:
            raise RuntimeError("write() within write(): the same thread would wait for itself")
        if thread in self._reading:
            raise RuntimeError("write() within read(): without a write-ahead log the snapshot would block the commit")

    def _begin(self, deadline: float) -> sqlite3.Connection:
        if self._writer is not None and (self._writer[0] is not self._file or self._lost_log()):
            # Before anything is looked at: its own lock would keep a file that was replaced from being made anew.
            self._drop_writer()
        file = self._ready(deadline)
        if self._writer is not None and self._writer[0] is not file:
            self._drop_writer()
        connection = (self._writer or self._open_writer(file, deadline))[1]
        retried(lambda: connection.execute("BEGIN IMMEDIATE"), deadline)
        try:
            self._check_version(connection)
        except BaseException:
            self._roll_back(connection)
            raise
        return connection

    def _open_writer(self, file: OpenFile, deadline: float) -> tuple[OpenFile, sqlite3.Connection]:
        writer = self._writer = (file, open_writer(self.path, file, self._options, deadline))
        log = wal_of(self.path)
        self._log = (log, identity_of(log)) if file.journal_mode == "wal" else None
        return writer

    def _lost_log(self) -> bool:
        """Whether somebody has removed the log that the writer writes to: nobody would ever read it again."""
        if self._log is None or identity_of(self._log[0]) == self._log[1]:
            return False
        self._empty_pool()
        return True

    def _begin_reading(self, connection: sqlite3.Connection) -> None:
        if not connection.in_transaction:
            connection.execute("BEGIN")
        self._check_version(connection)  # reads the file, and so takes the snapshot

    def _check_version(self, connection: sqlite3.Connection) -> None:
        """Another process may have brought the file forward, or put another one in its place, since we opened it."""
        version, newest = version_of(connection), self._options.newest
        if version == newest:
            return
        self._file = None
        if version > newest:
            raise newer_error(self.path, version, newest)
        raise StoreError(f"{self.path} has been replaced by an older one (format {version}) meanwhile. Try again.")

    def _ready(self, deadline: float) -> OpenFile:
        """The file, found in order: looked at again when it was deleted or replaced since."""
        file = self._file
        if file is not None and file.identity == identity_of(self.path):
            return file
        with self._opening:
            file = self._file
            if file is None or file.identity != identity_of(self.path):
                self._file = None
                self._empty_pool()
                try:
                    file = self._file = prepare(self.path, deadline, self._options)
                except OSError as problem:
                    raise store_error(problem, self.path) from problem
            return file

    def _take_reader(self, deadline: float) -> tuple[OpenFile, sqlite3.Connection]:
        file = self._ready(deadline)
        with self._pool_lock:
            pooled = self._pool.pop() if self._pool else None
        if pooled is not None and pooled[0] is file:
            return pooled
        if pooled is not None:
            pooled[1].close()
        return file, open_reader(self.path, self._options, deadline)

    def _give_back(self, file: OpenFile, connection: sqlite3.Connection) -> None:
        with self._pool_lock:
            if file is self._file and not self._is_closed and len(self._pool) < _IDLE_READERS:
                self._pool.append((file, connection))
                return
        connection.close()

    def _empty_pool(self) -> None:
        with self._pool_lock:
            pool, self._pool = self._pool, []
        _close_all([connection for _, connection in pool])

    def _release_writer(self) -> None:
        """Let others write. Behind `close` nobody is left to close it."""
        if self._is_closed:
            self._drop_writer()
        self._write_lock.release()

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            _close_all([writer[1]])

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            connection.rollback()
        except sqlite3.Error:
            self._drop_writer()

    @contextlib.contextmanager
    def _faults_told(self, give_up: Callable[[], None], allowed: float) -> Iterator[None]:
        """Turn SQLite's errors into StoreErrors; `give_up` closes a connection that is not to be trusted any more."""
        try:
            yield
        except UnicodeDecodeError as problem:  # in SQLite's words on a damaged file
            self._file = None
            give_up()
            raise store_error(problem, self.path) from problem
        except sqlite3.Error as problem:
            if is_busy(problem):
                raise busy_error(self.path, allowed) from problem
            if is_fatal(problem):
                self._file = None
                give_up()
            raise store_error(problem, self.path) from problem


class MemoryDatabase(Database):
    """A database that is gone with the process; one thread at a time reads or writes."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.gettempdir()) / f"hermes-acp-{secrets.token_hex(8)}" / "nowhere.db")
        self._only = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def write(self, patience: float | None = None) -> Iterator[sqlite3.Connection]:  # noqa: ARG002 - nobody else writes
        """One transaction."""
        with self._only, self._faults_told(lambda: None, 0.0):
            if self._connection is None:
                self._connection = connect_in_memory()
            if self._connection.in_transaction:  # a read within a write
                yield self._connection
                return
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()

    read = write


def _close_all(connections: list[sqlite3.Connection]) -> None:
    for connection in connections:
        with contextlib.suppress(sqlite3.Error):
            connection.close()
