"""A session store on a real file, with clocks that the test sets, and a look at its rows from outside."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError
from agent_core.sessions.database import Database
from agent_core.sessions.housekeeping import Rhythm
from agent_core.sessions.records import Holder
from agent_core.sessions.store import SessionStore
from tests.support.clock import Clock


class FailingDatabase(Database):
    """Fails when the test says so: before a transaction, or after its commit, whose outcome nobody is told then.

    Attributes:
        commits_told: after so many commits `fails_after` counts; None: at once.
    """

    fails_before: StoreError | None = None
    fails_after: StoreError | None = None
    commits_told: int | None = None

    @contextlib.contextmanager
    def write(self, patience: float | None = None) -> Iterator[sqlite3.Connection]:
        if self.fails_before is not None:
            raise self.fails_before
        with super().write(patience) as connection:
            yield connection
        if self.commits_told:
            self.commits_told -= 1
        elif self.fails_after is not None:
            raise self.fails_after


@dataclass
class Desk:
    """A store without a thread of its own: `store.tick()` does what is due.

    Attributes:
        patience: seconds that a turn waits for a busy database.
        clock: the store's monotonic one.
        time: the database's, seconds since the epoch.
    """

    path: Path
    patience: float = 0.0
    idle_jobs: tuple[Callable[[], bool], ...] = ()
    clock: Clock = field(default_factory=Clock)
    time: Clock = field(default_factory=lambda: Clock(1_800_000_000.0))

    def __post_init__(self) -> None:
        self.database = FailingDatabase(self.path, clock=self.time)
        self.store = self.another_store()

    def another_store(self, identity: Holder | None = None) -> SessionStore:
        """One more on the same database, as another process would have it."""
        return SessionStore(
            self.database,
            identity,
            rhythm=Rhythm(patience=self.patience, at_end=0.0),
            clock=self.clock,
            background=False,
            idle_jobs=self.idle_jobs,
        )

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What another program sees in the file."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(query, values).fetchall()

    def change(self, statement: str, *values: Any) -> None:
        """Write as another program would."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement, values)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Another program holds the write lock meanwhile."""
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")

    def close(self) -> None:
        self.store.close()
        self.database.close()
