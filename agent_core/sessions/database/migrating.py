"""The schema's numbered steps, and how a file is brought forward through them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from agent_core.sessions.database.file_header import APPLICATION_ID
from agent_core.sessions.database.patience import retried
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC

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
                for statement in _statements(migration.sql):
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


@functools.cache
def _statements(script: str) -> tuple[str, ...]:
    return tuple(statements(script))


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
