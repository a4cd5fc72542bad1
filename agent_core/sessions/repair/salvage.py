"""Saving what can be read of a damaged database into a new one, so that every session that is left can be used."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from agent_core.errors import StoreError
from agent_core.sessions.database.bodies import unpack
from agent_core.sessions.database.file_header import read_header
from agent_core.sessions.database.migrating import known_migrations, migrate
from agent_core.sessions.database.opening import connect
from agent_core.sessions.database.store_faults import READING_FAULTS
from agent_core.sessions.repair.salvage_rows import DamagedTable, Row
from agent_core.sessions.repair.salvage_source import damaged
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC

# The search index and its texts are made again from the messages.
_DERIVED = frozenset({"search_texts"})
_EMPTY_JSON: Mapping[str, str] = {"roots": "[]", "options": "{}", "kept": "{}", "usage": "{}"}
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
        unreadable: by table, how many there were that could not be read or understood, as far as that is known; they
            are in the damaged file only.
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
    """Add the rows that make sense; how many there are, and how many do not."""
    slots = ", ".join("?" * len(columns))
    statement = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({slots})"  # noqa: S608 - names of ours
    added, bad = 0, set()
    for row in found:
        values = dict(zip(columns, row, strict=True))
        try:
            if "body" in values:
                unpack(values["body"])
            if table == "sessions":
                values |= {name: empty for name, empty in _EMPTY_JSON.items() if not _is_json(values.get(name))}
            added += target.execute(statement, tuple(values[column] for column in columns)).rowcount
        except (StoreError, sqlite3.Error):
            bad.add(row[:2])
    return added, len(bad)


def _is_json(text: object) -> bool:
    try:
        json.loads(text if isinstance(text, str) else "")
    except (ValueError, RecursionError):
        return False
    return True


def _keys(target: sqlite3.Connection, table: str, columns: list[str]) -> set[str]:
    """Values by which rows of tables with keys of their own can be looked for: session ids and hashes."""
    named = {"sessions": ("id", "system_hash", "tools_hash")}.get(table, ("session_id",))
    wanted = [column for column in named if column in columns]
    return {
        row[0]
        for column in wanted
        for row in target.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")  # noqa: S608
    }
