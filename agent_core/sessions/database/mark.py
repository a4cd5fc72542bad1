"""A moment of the database: later it can be told whether anything was committed since, by whomever."""

from __future__ import annotations

import sqlite3

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """The moment, as a connection saw it.

    Attributes:
        commits: SQLite's `data_version`: another one as soon as any other connection has committed.
        changes: of rows, that the connection itself has made.
    """

    connection: sqlite3.Connection
    commits: int
    changes: int

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Mark:
        """Now."""
        return cls(connection, _commits(connection), connection.total_changes)

    def is_now(self, connection: sqlite3.Connection) -> bool:
        """Whether all is as it was then, seen from within a transaction. Only the same connection can tell."""
        return (
            connection is self.connection
            and connection.total_changes == self.changes
            and _commits(connection) == self.commits
        )


def _commits(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version
