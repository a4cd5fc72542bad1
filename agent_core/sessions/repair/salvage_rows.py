"""Reading the rows of a damaged table: around the pages that cannot be read."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from agent_core.sessions.database.store_faults import READING_FAULTS

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
