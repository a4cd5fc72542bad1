"""From a path to a usable database: looked at, made or brought forward where needed, and connected to."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from agent_core.errors import StoreError
from agent_core.sessions.database.file_header import (
    APPLICATION_ID,
    FileHeader,
    identity_of,
    journal_of,
    read_header,
    shm_of,
    wal_of,
)
from agent_core.sessions.database.filesystems import is_networked
from agent_core.sessions.database.migrating import Migration, back_up, known_migrations, migrate, sync, version_of
from agent_core.sessions.database.patience import pauses, retried
from agent_core.sessions.database.store_faults import (
    busy_error,
    corrupt_error,
    foreign_error,
    newer_error,
    primary_code,
    store_error,
)
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, lock, open_to_lock, set_mode

log = logging.getLogger(__name__)

_JOURNAL_SIZE_LIMIT = 4 << 20
_CHECKPOINT_AFTER = 10_000  # pages: only if nobody called `checkpoint` for long
_WAIT_FOR_WAL = 0.5
_BRINGING_SECONDS = 600.0
"""So long another process may take to bring a file forward; one that dies lets go at once."""

_COMMON = ("cell_size_check = ON",)
_WRITING = (
    *_COMMON,
    "foreign_keys = ON",
    "recursive_triggers = ON",  # REPLACE has to run the triggers that keep the search index
    "secure_delete = ON",
    f"journal_size_limit = {_JOURNAL_SIZE_LIMIT}",
    f"wal_autocheckpoint = {_CHECKPOINT_AFTER}",
)
_NOT_OPENED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
# Writers need the full-text index within triggers, which untrusted schemas may not use.
_READING = ("trusted_schema = OFF", *_COMMON, "query_only = ON")


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How a database is opened.

    Attributes:
        wal: keep a write-ahead log; None: unless the file system is a network's.
        vfs: SQLite's name for its way to the disk, '' for the usual one.
        migrations: the schema's steps; None for all that this program has.
    """

    wal: bool | None = None
    vfs: str = ""
    migrations: tuple[Migration, ...] | None = None

    @property
    def steps(self) -> tuple[Migration, ...]:
        """The schema's steps, in order."""
        return known_migrations() if self.migrations is None else self.migrations

    @property
    def newest(self) -> int:
        """The schema's version after all steps."""
        return self.steps[-1].number


@dataclass(frozen=True, slots=True, eq=False)
class OpenFile:
    """A file that was found in order: which one it is, and how it keeps its journal («wal», «delete» …)."""

    identity: tuple[int, int]
    journal_mode: str


def prepare(path: Path, deadline: float, options: OpenOptions) -> OpenFile:
    """Make sure that there is a database of the newest schema at `path`. One in order is not written to.

    Args:
        deadline: on `time.monotonic`, for waiting until other processes let go of it; one that brings it forward is
            waited for longer.

    Raises:
        StoreError: it is newer, damaged, another program's, or locked.
        OSError, sqlite3.Error: it cannot be made or brought forward.
    """
    wants_wal = not is_networked(path.parent) if options.wal is None else options.wal
    header = look(path, options.newest)
    if header is None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif header.version == options.newest and header.is_wal == wants_wal:
        return OpenFile(header.identity, "wal" if wants_wal else "delete")
    is_old = header is not None and header.version < options.newest
    with _alone(path.parent, max(deadline, time.monotonic() + _BRINGING_SECONDS) if is_old else deadline):
        header = look(path, options.newest)  # another process may have done it meanwhile
        if header is None:
            journal_mode = _make(path, deadline, options, wants_wal=wants_wal)
        else:
            journal_mode = _bring_forward(path, header, deadline, options, wants_wal=wants_wal)
    identity = identity_of(path)
    if identity is None:
        raise FileNotFoundError(errno.ENOENT, "it was removed while it was being opened", str(path))
    return OpenFile(identity, journal_mode)


def look(path: Path, newest: int) -> FileHeader | None:
    """The header of our database at `path`; None where one can be made.

    Raises:
        StoreError: what is there must not be written: newer, foreign or corrupt. OSError.
    """
    header = read_header(path)
    if header is None:
        return None
    if not header.is_sqlite:
        if header.is_zeroed:
            raise corrupt_error(path, "its beginning is empty")
        raise foreign_error(path, "it is no SQLite database; `hermes-acp doctor` tells more")
    if header.application_id == APPLICATION_ID:
        if header.version > newest:
            raise newer_error(path, header.version, newest)
        return header
    if header.application_id == 0 and header.version == 0 and header.is_empty:
        return header
    raise foreign_error(path, "it is another program's")


def open_writer(path: Path, file: OpenFile, options: OpenOptions, deadline: float) -> sqlite3.Connection:
    """A connection for writing. Raises sqlite3.Error."""
    synchronous = "NORMAL" if file.journal_mode == "wal" else "FULL"
    return _set_up(path, "rw", options.vfs, (*_WRITING, f"synchronous = {synchronous}"), deadline)


def open_reader(path: Path, options: OpenOptions, deadline: float) -> sqlite3.Connection:
    """A connection for reading; it works in a directory that may not be written, too. Raises sqlite3.Error."""
    try:
        return _set_up(path, "rw", options.vfs, _READING, deadline)
    except sqlite3.OperationalError as problem:
        if primary_code(problem) not in _NOT_OPENED or os.access(path.parent, os.W_OK):
            raise
        with contextlib.suppress(FileNotFoundError):
            if wal_of(path).stat().st_size:
                raise
    # Without a log, and where nobody can write one, the file alone is the whole truth.
    return _set_up(path, "ro&immutable=1", options.vfs, _READING, deadline)


def connect(path: Path, mode: str, vfs: str = "") -> sqlite3.Connection:
    """A plain connection in autocommit that never waits. `mode` is SQLite's: rw, ro, …. Raises sqlite3.Error."""
    choice = f"&vfs={vfs}" if vfs else ""
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}{choice}",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.text_factory = _text
    return connection


def _text(stored: bytes) -> str:
    """A damaged text is that row's fault alone: it keeps nobody from reading the others."""
    return stored.decode("utf-8", "surrogateescape")


def _set_up(path: Path, mode: str, vfs: str, pragmas: tuple[str, ...], deadline: float) -> sqlite3.Connection:
    connection = connect(path, mode, vfs)
    try:
        for pragma in pragmas:
            # Some look into the file, which nobody may for a moment after its last connection began to close.
            retried(functools.partial(connection.execute, f"PRAGMA {pragma}"), deadline)
        retried(lambda: version_of(connection), deadline)  # only now is the file really opened
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path, deadline: float, options: OpenOptions, *, wants_wal: bool) -> str:
    """Make a new database beside its place and put it there when it is whole; the result is how its journal is kept.

    So it is written to the disk once, not with each step, and a kill leaves no half of it.
    """
    # A deleted database's log must not be taken for the new one's; others were killed while they made one.
    for leftover in (wal_of(path), shm_of(path), journal_of(path), *path.parent.glob(f"{path.name}.*.new*")):
        leftover.unlink(missing_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        _make_file(new)
        with contextlib.closing(connect(new, "rw", options.vfs)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            migrate(connection, options.steps, deadline)
            journal_mode = _settle_journal(connection, new, deadline, wants_wal=wants_wal)
        sync(new)
        new.replace(path)
    finally:
        for made in (new, wal_of(new), shm_of(new), journal_of(new)):
            made.unlink(missing_ok=True)
    return journal_mode


def _make_file(path: Path) -> None:
    """Create a file for the user alone."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | O_CLOEXEC, 0o600)
    try:
        set_mode(descriptor, 0o600)  # the umask may have taken from it
    finally:
        os.close(descriptor)


def _bring_forward(path: Path, header: FileHeader, deadline: float, options: OpenOptions, *, wants_wal: bool) -> str:
    """Bring the schema forward and set how the journal is kept; the result is how."""
    with contextlib.closing(connect(path, "rw", options.vfs)) as connection:
        version = header.version
        if version < options.newest:
            # Steps are written through the rollback journal where it is still in use, so that a new file's header,
            # which others look at, is in the file and not in its log.
            if version:
                log.info("%s is brought from format %d to %d", path, version, options.newest)
                _back_up(connection, path, version)
            migrate(connection, options.steps, deadline)
            if header.is_wal:
                with contextlib.suppress(sqlite3.OperationalError):  # someone reads: a later checkpoint does it
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return _settle_journal(connection, path, deadline, wants_wal=wants_wal)


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    try:
        back_up(connection, path, version)
    except (sqlite3.Error, OSError) as problem:
        told = store_error(problem, path)
        raise StoreError(
            f"{told} Nothing was changed: a file of an earlier format ({version}) is copied before it is brought "
            f"forward, and the copy could not be made. It needs {path.stat().st_size / 1e6:.1f} MB.",
            kind=told.kind,
        ) from problem


def _settle_journal(connection: sqlite3.Connection, path: Path, deadline: float, *, wants_wal: bool) -> str:
    wanted = "wal" if wants_wal else "delete"
    try:
        retried(
            lambda: connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone(), time.monotonic() + _WAIT_FOR_WAL
        )
    except sqlite3.OperationalError as problem:
        log.info("%s could not be set to journal mode %s: %s", path, wanted, problem)
    mode: str = retried(lambda: connection.execute("PRAGMA journal_mode").fetchone(), deadline)[0]
    if mode != wanted:
        log.info("%s is kept with journal mode %s", path, mode)
    return mode


@contextlib.contextmanager
def _alone(directory: Path, deadline: float) -> Iterator[None]:
    """Hold the directory's lock against other processes that open the database for the first time.

    Raises:
        StoreError: it could not be had before the deadline.
    """
    began = time.monotonic()
    descriptor = open_to_lock(directory)
    try:
        for pause in pauses():
            try:
                lock(descriptor)
                break
            except BlockingIOError as problem:
                if time.monotonic() >= deadline:
                    raise busy_error(directory, time.monotonic() - began) from problem
            except OSError:
                break  # not every network file system can: SQLite's own locks have to do
            time.sleep(pause)
        yield
    finally:
        os.close(descriptor)
