"""From a path to a usable database: its header, the schema's numbered steps, and connecting to it."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import os
import re
import sqlite3
import struct
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from agent_core.errors import StoreError
from agent_core.own_files import open_file
from agent_core.sessions.store_errors import (
    busy_error,
    corrupt_error,
    foreign_error,
    newer_error,
    pauses,
    primary_code,
    retried,
    store_error,
)
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, lock, open_to_lock, set_mode

# What a database file says of itself, read without SQLite: looking must not change a file that is not ours.

APPLICATION_ID = 0x48414350
"""«HACP»: marks this program's databases."""

_MAGIC = b"SQLite format 3\x00"
_HEADER = 100
_LOOKED_AT = _HEADER + 8  # the header, and that of the schema table's first page
_LEAF = 0x0D
_WAL_FORMAT = 2
_WAL_HEADER = 32
_FRAME_HEADER = 24
_BIGGEST_PAGE = 65536


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The beginning of a database file.

    Attributes:
        is_sqlite: False: it is no SQLite database; nothing else counts then.
        is_zeroed: it begins with zeros, as files do whose beginning was lost.
        version: `user_version`, the schema's.
        is_empty: it has no tables.
        is_wal: it is in WAL mode.
        identity: device and inode.
    """

    is_sqlite: bool
    identity: tuple[int, int]
    is_zeroed: bool = False
    application_id: int = 0
    version: int = 0
    is_empty: bool = False
    is_wal: bool = False
    page_size: int = 4096


def read_header(path: Path) -> FileHeader | None:
    """The header as the next reader would see it; None where there is no file, or one without any content.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with open_file(path) as stream:
            facts = os.fstat(stream.fileno())
            start = stream.read(_LOOKED_AT)
    except FileNotFoundError:
        return None
    if not start:
        return None
    identity = (facts.st_dev, facts.st_ino)
    if not start.startswith(_MAGIC) or len(start) < _LOOKED_AT:
        return FileHeader(is_sqlite=False, identity=identity, is_zeroed=not start.strip(b"\x00"))
    is_wal = start[18] == _WAL_FORMAT
    if is_wal:
        start = _first_page_in_wal(wal_of(path), _page_size(start)) or start
    return FileHeader(
        is_sqlite=True,
        identity=identity,
        application_id=struct.unpack_from(">I", start, 68)[0],
        version=struct.unpack_from(">I", start, 60)[0],
        is_empty=start[_HEADER] == _LEAF and struct.unpack_from(">H", start, _HEADER + 3)[0] == 0,
        is_wal=is_wal,
        page_size=_page_size(start),
    )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at `path`; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def wal_of(path: Path) -> Path:
    """The write-ahead log beside the database, or where it would be; SQLite follows a link first."""
    return Path(f"{os.path.realpath(path)}-wal")


def shm_of(path: Path) -> Path:
    """The index of the write-ahead log."""
    return Path(f"{os.path.realpath(path)}-shm")


def journal_of(path: Path) -> Path:
    """The rollback journal."""
    return Path(f"{os.path.realpath(path)}-journal")


def files_of(path: Path) -> tuple[Path, ...]:
    """The database and everything that SQLite keeps beside it, resolved.

    No process that has the database open may open one of them in another way: closing that drops, as POSIX has it,
    the locks that SQLite holds on the file. Others then take the database for unused and remove its log.
    """
    real = os.path.realpath(path)
    return Path(real), *(Path(f"{real}-{kind}") for kind in ("wal", "shm", "journal"))


def _page_size(start: bytes) -> int:
    size: int = struct.unpack_from(">H", start, 16)[0]
    return _BIGGEST_PAGE if size == 1 else size


def _first_page_in_wal(wal: Path, page_size: int) -> bytes | None:
    """The start of page 1 as the log's last commit left it; None where the log does not have it."""
    try:
        with wal.open("rb") as stream:
            return _last_committed(stream, page_size)
    except OSError:
        return None


def _last_committed(stream: BinaryIO, page_size: int) -> bytes | None:
    salts = stream.read(_WAL_HEADER)[16:24]
    seen: bytes | None = None
    committed: bytes | None = None
    while len(frame := stream.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salts:
        page, pages_after_commit = struct.unpack_from(">II", frame)
        start = stream.read(_LOOKED_AT) if page == 1 else b""
        stream.seek(page_size - len(start), os.SEEK_CUR)
        if page == 1 and start.startswith(_MAGIC):
            seen = start
        if pages_after_commit:
            committed = seen
    return committed


# Which file systems other machines may use too, and which share no memory between their users.

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORKED = frozenset(
    {"9p", "afs", "ceph", "cifs", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs"}
    | {"vboxsf", "virtiofs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse"}
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


def is_networked(path: Path, mounts: str | None = None) -> bool:
    """Whether `path` is on a network file system, or one shared with another machine: a write-ahead log would corrupt
    a database there.

    Args:
        mounts: text in the form of /proc/self/mountinfo; the system's own if left out. Where there is none, False.
    """
    return _kind_of(path, mounts) in _NETWORKED


def may_be_shared(path: Path, mounts: str | None = None) -> bool:
    """Whether other machines may use the files there: on network file systems, and on any that a program serves."""
    kind = _kind_of(path, mounts)
    return kind in _NETWORKED or kind == "fuse" or kind.startswith("fuse.")


def _kind_of(path: Path, mounts: str | None) -> str:
    """The type of the file system that `path` is on; '' where that is not known."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    target = os.path.realpath(path)
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:  # noqa: PLR2004 - the mount point is the fifth
            continue
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4])
        is_above = target == point or target.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):  # of two at one place the later hides the earlier
            best, kind = point, after.split(" ", 1)[0]
    return kind


# The schema's numbered steps, and how a file is brought forward through them.

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: after it the file's `user_version` is `number`."""

    number: int
    sql: str


@functools.cache
def known_migrations() -> tuple[Migration, ...]:
    """Every step that this program knows, numbered from 1 without a gap."""
    directory = resources.files("agent_core.sessions") / "migrations"
    named = ((_NAME.fullmatch(entry.name), entry) for entry in directory.iterdir())
    found = [Migration(int(name[1]), entry.read_text(encoding="utf-8")) for name, entry in named if name]
    return tuple(sorted(found, key=lambda migration: migration.number))


def migrate(connection: sqlite3.Connection, migrations: Sequence[Migration], deadline: float) -> None:
    """Apply the steps that the file has not had; each is done whole or not at all, once among all processes.

    Args:
        connection: in autocommit, foreign keys off (a step may have to rebuild a table that others refer to).
        deadline: on `time.monotonic`, for waiting until other processes let go of the file.

    Raises:
        sqlite3.Error: a step failed; the file is as the steps before it left it.
    """
    for migration in migrations:
        retried(lambda: connection.execute("BEGIN IMMEDIATE"), deadline)
        try:
            if version_of(connection) < migration.number:
                for statement in statements(migration.sql):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {migration.number}")
            retried(connection.commit, deadline)
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()
            raise


def back_up(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """Put a copy of the database beside it, readable by the user alone; older copies of this kind are removed.

    Returns:
        the copy's path: that of the database with «.v<version>.bak».

    Raises:
        sqlite3.Error: OSError: there is no copy.
    """
    copy = path.with_name(f"{path.name}.v{version}.bak")
    # Two processes may do this at once where files cannot be locked: a name of its own for each.
    draft = path.with_name(f"{copy.name}.{os.getpid()}.tmp")
    for leftover in path.parent.glob(f"{path.name}.v*.bak.*.tmp*"):  # of those that were killed at it
        leftover.unlink(missing_ok=True)
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | O_CLOEXEC, 0o600))
        retried(lambda: connection.execute("VACUUM INTO ?", (str(draft),)), time.monotonic() + 1)
        sync(draft)
        draft.replace(copy)
    finally:
        draft.unlink(missing_ok=True)
    for other in path.parent.glob(f"{path.name}.v*.bak"):
        if other != copy:
            other.unlink(missing_ok=True)
    return copy


def sync(path: Path) -> None:
    """Have a file on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def version_of(connection: sqlite3.Connection) -> int:
    """The file's `user_version`."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def statements(script: str) -> Iterator[str]:
    """The statements of an SQL script: `executescript` would commit the transaction that it runs in."""
    lines: list[str] = []
    for line in script.splitlines(keepends=True):
        lines.append(line)
        text = "".join(lines)
        if line.rstrip().endswith(";") and sqlite3.complete_statement(text):
            yield text
            lines = []
    if rest := "".join(lines).strip():
        yield rest  # a comment, or a statement without its semicolon


# Opening: looked at, made or brought forward where needed, and connected to.

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


def connect_in_memory() -> sqlite3.Connection:
    """A connection to a new database in memory, of the newest schema."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.text_factory = _text
    migrate(connection, known_migrations(), time.monotonic())
    for pragma in _WRITING:
        connection.execute(f"PRAGMA {pragma}")
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
                try:
                    back_up(connection, path, version)
                except (sqlite3.Error, OSError) as problem:
                    told = store_error(problem, path)
                    raise StoreError(
                        f"{told} Nothing was changed: a file of an earlier format ({version}) is copied before it is "
                        "brought forward, and the copy could not be made.",
                        kind=told.kind,
                    ) from problem
            migrate(connection, options.steps, deadline)
            if header.is_wal:
                with contextlib.suppress(sqlite3.OperationalError):  # someone reads: a later checkpoint does it
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return _settle_journal(connection, path, deadline, wants_wal=wants_wal)


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
