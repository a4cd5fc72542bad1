"""Opening a damaged database for reading whatever can still be read."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from agent_core.sessions.database.file_header import wal_of
from agent_core.sessions.database.opening import connect
from agent_core.sessions.database.store_faults import READING_FAULTS

log = logging.getLogger(__name__)

_HEADER = 100


@contextlib.contextmanager
def damaged(path: Path, like: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection to the damaged file, which is not changed; None where no table of it can be found.

    Where its beginning is lost, a copy of it gets the beginning of a new database: tables are at the same places in
    every database that was made by the same program.

    Args:
        like: a new, empty database, closed.
    """
    with contextlib.ExitStack() as stack:
        connection = _opened(path)
        if connection is None:
            copy = path.with_name(f"{path.name}.{os.getpid()}.copy")
            stack.callback(_remove, copy)
            connection = _with_new_beginning(path, copy, like.read_bytes())
        if connection is not None:
            stack.callback(connection.close)
        yield connection


def _opened(path: Path) -> sqlite3.Connection | None:
    try:
        connection = connect(path, "ro")
    except READING_FAULTS:
        return None
    try:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        # A damaged schema, or a file that is too short, then keeps nobody from reading the rest.
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA cell_size_check = ON")
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('sessions', 'messages')")
        if tables.fetchone()[0]:
            return connection
    except READING_FAULTS as problem:
        log.info("%s cannot be read as it is: %s", path, problem)
    connection.close()
    return None


def _with_new_beginning(path: Path, copy: Path, like: bytes) -> sqlite3.Connection | None:
    page = struct.unpack_from(">H", like, 16)[0] or 4096
    for length in (_HEADER, page):
        _remove(copy)
        shutil.copyfile(path, copy)
        copy.chmod(0o600)
        if wal_of(path).exists():
            shutil.copyfile(wal_of(path), wal_of(copy))
            wal_of(copy).chmod(0o600)
        with copy.open("r+b") as stream:
            stream.write(_beginning(like[:length], os.fstat(stream.fileno()).st_size // page))
        connection = _opened(copy)
        if connection is not None and _has_rows(connection):
            return connection
        if connection is not None:
            connection.close()
    return None


def _beginning(like: bytes, pages: int) -> bytes:
    start = bytearray(like)
    struct.pack_into(">I", start, 28, pages)
    struct.pack_into(">II", start, 32, 0, 0)  # which pages are free is not known; nothing is written anyway
    start[92:96] = start[24:28]  # the number of pages counts only if these are equal
    return bytes(start)


def _has_rows(connection: sqlite3.Connection) -> bool:
    for table in ("sessions", "messages", "texts"):
        with contextlib.suppress(*READING_FAULTS):
            if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():  # noqa: S608 - names of ours
                return True
    return False


def _remove(copy: Path) -> None:
    for name in (copy, *(copy.with_name(f"{copy.name}-{suffix}") for suffix in ("wal", "shm", "journal"))):
        name.unlink(missing_ok=True)
