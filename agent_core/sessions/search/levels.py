"""The levels of the full-text index, which must stay few.

The index is made of parts, and the parts lie on levels, the newest on the lowest. Up to SQLite 3.41 each merge of all
parts into one opens a further level and leaves the empty ones below it; an index with more than 2,000 of them counts
as damaged. Empty levels mean nothing, so they can be left out of the record that lists the parts.

Source: the format of the structure record is described at the beginning of fts5_index.c in SQLite's sources; it is
part of the file format, so it does not change for tables that are there.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from agent_core.sessions.database.database import Database
from tools.light_dataclass import dataclass

NO_PARTS = bytes(7)
"""The structure record of an index without words."""

SET_STRUCTURE = "INSERT OR REPLACE INTO messages_fts_data (id, block) VALUES (10, ?)"
_STRUCTURE = "SELECT block FROM messages_fts_data WHERE id = 10"
_MANY = 250
_COOKIE = 4  # bytes


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the index.

    Attributes:
        merging: how many of its parts are being merged into one on the next level.
        parts: for each its id, its first page and its last one; the oldest first.
    """

    merging: int
    parts: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """What the structure record says: which settings it was written with, how much was written, and the levels."""

    cookie: bytes
    written: int
    levels: tuple[Level, ...]

    def shortened(self) -> Structure:
        """The same without empty levels."""
        return Structure(self.cookie, self.written, tuple(level for level in self.levels if level.parts))


def decoded(record: bytes) -> Structure:
    """The structure that a record tells of. Raises ValueError if it is none that is known."""
    numbers = _numbers(record[_COOKIE:])
    try:
        levels, parts, written = next(numbers), next(numbers), next(numbers)
        structure = Structure(record[:_COOKIE], written, tuple(_level(numbers) for _ in range(levels)))
    except (StopIteration, RuntimeError):
        raise ValueError("the structure record of the search index ends too early") from None
    if encoded(structure) != record or sum(len(level.parts) for level in structure.levels) != parts:
        raise ValueError("the structure record of the search index is of an unknown kind")
    return structure


def encoded(structure: Structure) -> bytes:
    """The record for a structure."""
    parts = sum(len(level.parts) for level in structure.levels)
    numbers = [len(structure.levels), parts, structure.written]
    for level in structure.levels:
        numbers += [level.merging, len(level.parts), *(number for part in level.parts for number in part)]
    return structure.cookie + b"".join(map(_varint, numbers))


def keep_few(database: Database) -> None:
    """Leave out empty levels once there are many. What cannot be read or written is left as it is.

    Raises:
        StoreError: the database cannot be used.
    """
    with database.read() as connection:
        found = _read(connection)
    if found is None or len(found.levels) < _MANY:
        return
    # A connection remembers the structure until another one has changed it.
    with contextlib.closing(database.another()) as other, other.write() as connection:
        _shorten(connection)


def _read(connection: sqlite3.Connection) -> Structure | None:
    """None where there is none that is known."""
    row = connection.execute(_STRUCTURE).fetchone()
    with contextlib.suppress(ValueError):
        return decoded(row[0]) if row else None
    return None


def _shorten(connection: sqlite3.Connection) -> None:
    structure = _read(connection)
    # Some systems' SQLite lets nobody write it; theirs is of later versions, which keep levels few.
    with contextlib.suppress(sqlite3.OperationalError):
        if structure is not None:
            connection.execute(SET_STRUCTURE, (encoded(structure.shortened()),))


def _level(numbers: Iterator[int]) -> Level:
    merging, count = next(numbers), next(numbers)
    return Level(merging, tuple((next(numbers), next(numbers), next(numbers)) for _ in range(count)))


def _numbers(data: bytes) -> Iterator[int]:
    """SQLite's variable-length integers, as long as they need no ninth byte."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            yield value
            value = 0


def _varint(number: int) -> bytes:
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F | 0x80)
    return bytes(reversed(groups))
