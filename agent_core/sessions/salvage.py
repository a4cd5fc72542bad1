"""Saving what can be read of a damaged database into a new one, so that every session that is left can be used."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from agent_core.sessions.schema import connect, files_of, known_migrations, migrate, read_header, wal_of
from agent_core.sessions.store_errors import READING_FAULTS
from tools.os_compat import O_CLOEXEC

log = logging.getLogger(__name__)

_TOLD_TABLES = ("sessions", "turns", "messages", "events")
# The search index and its texts are made again from the messages.
_DERIVED = frozenset({"search_texts"})
_KEYS = """
SELECT id FROM sessions UNION SELECT system_hash FROM sessions UNION SELECT tools_hash FROM sessions
UNION SELECT session_id FROM messages UNION SELECT session_id FROM events
"""
_LOST_SESSIONS = """
INSERT INTO sessions (id, cwd, source, mode, title, title_source, root_id, created_at, updated_at)
SELECT session_id, '/', 'recovered', 'default', 'Recovered session', 'prompt', session_id, min(at), max(at)
FROM (SELECT session_id, created_at AS at FROM messages UNION ALL SELECT session_id, created_at FROM events)
WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id
"""
_LOST_TURNS = """
INSERT OR IGNORE INTO turns (session_id, number, id, began_at, ended_at, outcome)
SELECT session_id, turn, 'recovered-' || turn, min(at), max(at), 'end_turn'
FROM (SELECT session_id, turn, created_at AS at FROM messages
      UNION ALL SELECT session_id, turn, created_at FROM events)
GROUP BY session_id, turn
"""
_TURNS_BEGUN = """
UPDATE sessions SET
    turns_begun = max(turns_begun, (SELECT coalesce(max(number), 0) FROM turns WHERE session_id = sessions.id)),
    holder = NULL, holder_token = NULL, holder_until = NULL
"""


def salvage(source: Path, target: Path) -> list[str]:
    """Make a new database at `target`, where nothing may be, of what can be read of `source`, which is not changed.

    Returns:
        sentences on what was saved, and what was not.

    Raises:
        OSError, sqlite3.Error: the new database cannot be made.
    """
    steps = known_migrations()
    header = read_header(source)
    version = header.version if header and header.is_sqlite else 0
    known = steps[:version] if 0 < version < len(steps) else steps
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | O_CLOEXEC, 0o600))
    with contextlib.closing(connect(target, "rw")) as connection:
        migrate(connection, known, time.monotonic())
    # The connection is closed: what a lost beginning is taken from has to be in the file.
    with contextlib.closing(connect(target, "rw")) as connection, _opened(source, target) as broken:
        connection.execute("BEGIN IMMEDIATE")
        told = [] if broken is None else _copy(broken, connection)
        connection.commit()
        migrate(connection, steps, time.monotonic())
    return told


def _copy(broken: sqlite3.Connection, target: sqlite3.Connection) -> list[str]:
    saved: dict[str, int] = {}
    lost: dict[str, int] = {}
    listed = target.execute("SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
    tables = [(wr, name) for name, wr in listed if not name.startswith("sqlite_") and name not in _DERIVED]
    for has_keys, table in sorted(tables):  # those with keys of their own last: what to look for is known then
        there = _columns(broken, table)
        columns = [column for column in _columns(target, table) if column in there]
        if not columns:
            continue
        rows: Iterator[Row | None] = _rows_by_number(broken, table, columns)
        if has_keys:
            rows = _rows_by_key(broken, table, columns, [key for (key,) in target.execute(_KEYS)])
        saved[table], lost[table] = _insert(target, table, columns, rows)
    recreated = target.execute(_LOST_SESSIONS).rowcount
    target.execute(_LOST_TURNS)
    target.execute(_TURNS_BEGUN)
    for _, table in tables:
        if table != "sessions" and "session_id" in _columns(target, table):
            target.execute(f"DELETE FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)")  # noqa: S608
    told = [f"Saved: {', '.join(f'{saved.get(table, 0)} {table}' for table in _TOLD_TABLES)}."]
    if any(lost.values()):
        parts = ", ".join(f"{count} of {table}" for table, count in sorted(lost.items()) if count)
        told.append(f"Not readable, and in the broken file only: {parts}.")
    if recreated:
        told.append(f"{recreated} sessions had lost their title and directory: «Recovered session».")
    return told


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    with contextlib.suppress(*READING_FAULTS):
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    return []


def _insert(
    target: sqlite3.Connection, table: str, columns: list[str], rows: Iterable[Row | None]
) -> tuple[int, int]:
    """Add the rows, also those that make no sense; how many there are, and how many are lost."""
    slots = ", ".join("?" * len(columns))
    statement = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({slots})"  # noqa: S608 - names of ours
    added = lost = 0
    for row in rows:
        try:
            if row is None:
                lost += 1
            else:
                added += target.execute(statement, row).rowcount
        except sqlite3.Error:  # the table cannot hold it
            lost += 1
    return added, lost


# Opening a damaged database for reading whatever can still be read.

_HEADER = 100
_PAGE = 4096


@contextlib.contextmanager
def _opened(source: Path, new: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection to the damaged file, which is not changed; None where no table of it can be found.

    Where its beginning is lost, a copy of it gets the beginning of the new, empty database: tables are at the same
    places in every database that was made by the same program.
    """
    copy = new.with_name(f"{new.name}.copy")
    with contextlib.ExitStack() as stack:
        connection = _readable(source)
        for length in (_HEADER, _PAGE):
            if connection is None:
                stack.callback(_remove, copy)
                _copy_with(source, copy, new.read_bytes()[:length])
                connection = _readable(copy)
        if connection is not None:
            stack.callback(connection.close)
        yield connection


def _remove(copy: Path) -> None:
    for file in files_of(copy):
        file.unlink(missing_ok=True)


def _readable(path: Path) -> sqlite3.Connection | None:
    try:
        connection = connect(path, "ro")
    except READING_FAULTS:
        return None
    try:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        # A damaged schema, or a file that is too short, then keeps nobody from reading the rest.
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA cell_size_check = ON")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name IN ('sessions', 'messages')").fetchone():
            return connection
    except READING_FAULTS as problem:
        log.info("%s cannot be read as it is: %s", path, problem)
    connection.close()
    return None


def _copy_with(source: Path, copy: Path, beginning: bytes) -> None:
    for file, name in ((source, copy), (wal_of(source), wal_of(copy))):
        name.unlink(missing_ok=True)
        if file.exists():
            shutil.copyfile(file, name)
            name.chmod(0o600)
    start = bytearray(beginning)
    struct.pack_into(">I", start, 28, copy.stat().st_size // _PAGE)
    struct.pack_into(">II", start, 32, 0, 0)  # which pages are free is not known; nothing is written anyway
    start[92:96] = start[24:28]  # the number of pages counts only if these are equal
    with copy.open("r+b") as stream:
        stream.write(start)


# Reading the rows of a damaged table: around the pages that cannot be read.

Row = Sequence[Any]

_BEYOND = 1 << 16  # numbers that are tried where nothing tells how many there are
_MOST_TRIES = 400_000
_MOST_IN_PAGE = 8192


def _rows_by_number(broken: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[Row | None]:
    """Every row that can be read, and None for each that is known to be lost.

    The range of numbers is halved again and again where it cannot be read as a whole.
    """
    query = (
        f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED"  # noqa: S608 - names of ours
        " WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    )
    last = _last_number(broken, table)
    ranges, tries = [(0, _BEYOND if last is None else last)], 0
    while ranges and tries < _MOST_TRIES:
        low, high = ranges.pop()
        tries += 1
        try:
            for number, *row in broken.execute(query, (low, high)):
                if number < low:  # a damaged page was taken for a good one: a scan that goes back would never end
                    raise sqlite3.DatabaseError(f"the rows of {table} are out of order")
                low = number + 1
                yield row
        except READING_FAULTS:
            if low < high:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
            elif low == high and last is not None:
                yield None


def _last_number(broken: sqlite3.Connection, table: str) -> int | None:
    found: list[int] = []
    for query in (f"SELECT max(rowid) FROM {table}", f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'"):  # noqa: S608
        with contextlib.suppress(*READING_FAULTS):
            found += [number for (number,) in broken.execute(query) if isinstance(number, int)]
    return max(found, default=None)


def _rows_by_key(broken: sqlite3.Connection, table: str, columns: list[str], keys: list[str]) -> Iterator[Row]:
    """The same for a table without row ids: those with known keys where it cannot be read as a whole."""
    query = f"SELECT {', '.join(columns)} FROM {table}"  # noqa: S608 - names of ours
    with contextlib.suppress(*READING_FAULTS):
        # More rows than the file can hold: damaged pages may lead in a circle.
        most = broken.execute("PRAGMA page_count").fetchone()[0] * _MOST_IN_PAGE
        yield from islice(broken.execute(query), most)
        return
    for key in keys:
        with contextlib.suppress(*READING_FAULTS):
            yield from broken.execute(f"{query} WHERE {columns[0]} = ?", (key,))
