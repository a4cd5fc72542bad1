"""Saving what can be read of a damaged database into a new one, so that every session that is left can be used."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Any

from agent_core.sessions.schema import connect, known_migrations, migrate, read_header, wal_of
from agent_core.sessions.store_errors import READING_FAULTS
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC

# Opening a damaged database for reading whatever can still be read.

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


# Reading the rows of a damaged table: around the pages that cannot be read.

Row = tuple[Any, ...]

_BEYOND = 4096  # numbers that are tried after the last that is known, where nothing tells how many there are
_MOST_TRIES = 400_000
_MOST_IN_PAGE = 8192
_NONE = 1 << 63


class _Nonsense(Exception):
    """A damaged page was taken for a good one: its rows are out of order."""


class DamagedTable:
    """A table of a damaged database.

    Args:
        columns: those to read.
        key: the first column of the primary key for a table without row ids; '' for one with row ids.

    Attributes:
        lost: after `rows`, how many rows there must have been that cannot be read, as far as the indexes tell.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, columns: Sequence[str], key: str = "") -> None:
        self._connection = connection
        self._name = name
        self._columns = ", ".join(columns)
        self._key = key
        self.lost = 0

    def rows(self, known_keys: Iterable[str] = ()) -> Iterator[Row]:
        """Every row that can be read; some may come twice.

        Args:
            known_keys: for a table without row ids, values of `key` that are looked for one by one where a part of
                the table cannot be read.
        """
        if self._key:
            yield from self._keyed(known_keys)
        else:
            yield from (row[1:] for row in self._numbered())

    def _numbered(self) -> Iterator[Row]:
        first, last = -1, _NONE
        with contextlib.suppress(*READING_FAULTS, _Nonsense):
            for row in self._select("ORDER BY rowid"):
                first = _after(row[0], first)
                yield row
            return
        with contextlib.suppress(*READING_FAULTS, _Nonsense):
            for row in self._select("ORDER BY rowid DESC"):
                last = -_after(-row[0], -last)
                yield row
        low = first + 1
        if (known := self._indexed()) is not None:
            yield from self._one_by_one(sorted(number for number in known if low <= number < last))
        else:
            yield from self._between(low, self._last(low) if last == _NONE else last - 1)

    def _indexed(self) -> set[int] | None:
        """The numbers of all rows, from an index that can be read from end to end; None where there is none."""
        with contextlib.suppress(*READING_FAULTS):
            for _, index, *_ in self._connection.execute(f"PRAGMA index_list({self._name})").fetchall():
                with contextlib.suppress(*READING_FAULTS):
                    query = f'SELECT rowid FROM {self._name} INDEXED BY "{index}"'  # noqa: S608 - names of ours
                    return {row[0] for row in self._connection.execute(query)}
        return None

    def _one_by_one(self, numbers: Sequence[int]) -> Iterator[Row]:
        for number in numbers:
            try:
                yield from self._select("WHERE rowid = ?", (number,))
            except READING_FAULTS:
                self.lost += 1

    def _between(self, low: int, high: int) -> Iterator[Row]:
        """Rows with these numbers, the range halved again and again where it cannot be read as a whole."""
        ranges, tries = [(low, high)], 0
        while ranges and tries < _MOST_TRIES:
            low, high = ranges.pop()
            tries += 1
            try:
                for row in self._select("WHERE rowid BETWEEN ? AND ? ORDER BY rowid", (low, high)):
                    low = _after(row[0], low - 1) + 1
                    yield row
            except (*READING_FAULTS, _Nonsense):
                if low < high:
                    middle = (low + high) // 2
                    ranges += [(middle + 1, high), (low, middle)]

    def _last(self, low: int) -> int:
        with contextlib.suppress(*READING_FAULTS):
            found = self._connection.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", (self._name,)
            ).fetchone()
            if found and isinstance(found[0], int):
                return max(min(found[0], low + _MOST_TRIES), low)
        return low + _BEYOND

    def _keyed(self, known_keys: Iterable[str]) -> Iterator[Row]:
        with contextlib.suppress(*READING_FAULTS):
            yield from islice(self._select(""), self._most())
            return
        with contextlib.suppress(*READING_FAULTS):
            yield from islice(self._select(f"ORDER BY {self._key} DESC"), self._most())
        for value in known_keys:
            with contextlib.suppress(*READING_FAULTS):
                yield from self._select(f"WHERE {self._key} = ?", (value,))

    def _most(self) -> int:
        """More rows than the file can hold: damaged pages may lead in a circle."""
        pages: int = self._connection.execute("PRAGMA page_count").fetchone()[0]
        return pages * _MOST_IN_PAGE

    def _select(self, condition: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        columns = self._columns if self._key else f"rowid, {self._columns}"
        query = f"SELECT {columns} FROM {self._name} NOT INDEXED {condition}"  # noqa: S608 - names of ours
        return self._connection.execute(query, values)


def _after(number: int, previous: int) -> int:
    """`number`, which has to be greater than `previous`: a scan that goes back would never end."""
    if number <= previous:
        raise _Nonsense
    return number


# The search index and its texts are made again from the messages.
_DERIVED = frozenset({"search_texts"})
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


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What came of it.

    Attributes:
        rows: by table, how many rows are in the new file.
        unreadable: by table, how many there were that could not be read, as far as that is known; they are in the
            damaged file only.
        recreated: sessions whose messages were found, but not what was known of the session itself.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    recreated: int = 0


def salvage(source: Path, target: Path) -> Salvaged:
    """Make a new database at `target`, where nothing may be, of what can be read of `source`, which is not changed.

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
    with contextlib.closing(connect(target, "rw")) as connection, damaged(source, target) as broken:
        connection.execute("BEGIN IMMEDIATE")
        found = Salvaged() if broken is None else _copy(broken, connection)
        connection.commit()
        migrate(connection, steps, time.monotonic())
    return found


def _copy(broken: sqlite3.Connection, target: sqlite3.Connection) -> Salvaged:
    rows: dict[str, int] = {}
    unreadable: dict[str, int] = {}
    keys: set[str] = set()
    for table, is_keyed in _tables(target):
        columns = _shared_columns(broken, target, table)
        if not columns:
            continue
        found = DamagedTable(broken, table, columns, key=columns[0] if is_keyed else "")
        rows[table], bad = _insert(target, table, columns, found.rows(keys))
        if bad or found.lost:
            unreadable[table] = bad + found.lost
        keys |= _keys(target, table, columns)
    recreated = target.execute(_LOST_SESSIONS).rowcount
    target.execute(_LOST_TURNS)
    target.execute(_TURNS_BEGUN)
    for table, _ in _tables(target):
        if table != "sessions" and "session_id" in _columns(target, table):
            target.execute(f"DELETE FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)")  # noqa: S608
    return Salvaged(rows, unreadable, recreated)


def _tables(target: sqlite3.Connection) -> list[tuple[str, bool]]:
    """The tables to fill, those with keys of their own last: what they are looked for by is known then."""
    listed = target.execute("SELECT name, wr FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
    found = [(name, bool(wr)) for name, wr in listed if not name.startswith("sqlite_") and name not in _DERIVED]
    return sorted(found, key=lambda table: (table[1], table[0] != "sessions", table[0]))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _shared_columns(broken: sqlite3.Connection, target: sqlite3.Connection, table: str) -> list[str]:
    try:
        there = set(_columns(broken, table))
    except READING_FAULTS:
        return []
    return [column for column in _columns(target, table) if column in there]


def _insert(target: sqlite3.Connection, table: str, columns: list[str], found: Iterable[Row]) -> tuple[int, int]:
    """Add the rows, also those that make no sense; how many there are, and how many the table cannot hold."""
    slots = ", ".join("?" * len(columns))
    statement = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({slots})"  # noqa: S608 - names of ours
    added, bad = 0, set()
    for row in found:
        try:
            added += target.execute(statement, row).rowcount
        except sqlite3.Error:
            bad.add(row[:2])
    return added, len(bad)


def _keys(target: sqlite3.Connection, table: str, columns: list[str]) -> set[str]:
    """Values by which rows of tables with keys of their own can be looked for: session ids and hashes."""
    named = {"sessions": ("id", "system_hash", "tools_hash")}.get(table, ("session_id",))
    wanted = [column for column in named if column in columns]
    return {
        row[0]
        for column in wanted
        for row in target.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")  # noqa: S608
    }
