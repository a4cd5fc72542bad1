"""Mending the database. Nothing is ever deleted: a file that is broken is set aside, whole.

What can be mended where it is (indexes, the search index, permissions) is. A file with damaged pages is read row by
row into a new one; then the damaged file gets another name and the new one its place. At every moment the damaged
file is there under one of its two names, and the next repair does what was left undone.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent_core.errors import StoreError
from agent_core.sessions.database.database import Database
from agent_core.sessions.database.file_header import shm_of, wal_of
from agent_core.sessions.database.opening import connect
from agent_core.sessions.database.patience import retried
from agent_core.sessions.database.store_faults import READING_FAULTS, store_error
from agent_core.sessions.repair.blob_facts import mark_lost
from agent_core.sessions.repair.damaged_rows import damaged_rows, named, set_aside
from agent_core.sessions.repair.examining import examine
from agent_core.sessions.repair.findings import Findings
from agent_core.sessions.repair.salvage import Salvaged, salvage
from agent_core.sessions.search.levels import NO_PARTS, SET_STRUCTURE
from tools.light_dataclass import dataclass

_PATIENCE = 5.0
_SHM_IN_USE = 128  # the byte of the log's index that every connection holds a lock on
_DATABASE_LOCKS = (0x40000000, 512)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was done.

    Attributes:
        done: one sentence for each thing.
        refused: why something was not done, and what to do; '' if everything was.
        set_aside: where the broken file is now; its log, if it had one, is beside it.
        salvaged: what of it is in the new file.
    """

    done: tuple[str, ...] = ()
    refused: str = ""
    set_aside: Path | None = None
    salvaged: Salvaged | None = None


def repair(path: Path, blobs: Path | None = None, now: float | None = None) -> RepairReport:
    """Mend the database at `path`. This process must not have it open.

    Args:
        blobs: where contents of files are kept, «blobs» beside the database if left out.
        now: seconds since the epoch, for the broken file's name and for telling dead holders.

    Raises:
        StoreError: it could not be mended; nothing was lost.
    """
    now = time.time() if now is None else now
    blobs = path.parent / "blobs" if blobs is None else blobs
    findings = examine(path, blobs, now)
    try:
        if findings.remedy == "in place":
            done, refused = _mend(findings, blobs, now)
            again = examine(path, blobs, now)
            if again.remedy != "rebuild":
                return RepairReport(done, refused)
            findings = again
        if findings.remedy == "rebuild":
            return _rebuild(findings, blobs, now)
    except (*READING_FAULTS, OSError) as problem:
        raise store_error(problem, path) from problem
    unmended = [problem.text for problem in findings.problems if findings.fault]
    return RepairReport(refused=" ".join(unmended))


def _mend(findings: Findings, blobs: Path, now: float) -> tuple[tuple[str, ...], str]:
    path, subjects = findings.path, {problem.subject for problem in findings.problems if problem.remedy == "in place"}
    done, refused = [], ""
    if "permissions" in subjects:
        done.append(_make_private(path, blobs))
    if "log" in subjects:
        user = _user(findings)
        if user:
            refused = f"{wal_of(path)} was left where it is: {user}."
        else:
            kept = _free_name(path, now)
            _set_log_aside(path, kept)
            done.append(f"What was in the place of the log is now {kept}-wal.")
    steps: list[tuple[str, str, Callable[[sqlite3.Connection], object]]] = [
        ("index", "The indexes were made anew.", lambda connection: connection.execute("REINDEX")),
        ("search", "The search index was made anew.", _rebuild_search),
        ("blobs", "Changes whose earlier content is lost are marked.", lambda found: mark_lost(found, blobs)),
    ]
    for subject, text, step in steps:
        if subject in subjects:
            _in_transaction(path, step)
            done.append(text)
    if "rows" in subjects:
        done += _set_rows_aside(path)
    return tuple(done), refused


def _set_rows_aside(path: Path) -> list[str]:
    done = []
    with contextlib.closing(Database(path)) as database:  # which brings a file of an earlier format forward
        with database.read() as connection:
            sessions = sorted({damage.session_id for damage in damaged_rows(connection)})
        for session_id in sessions:
            with database.write() as connection:
                found = set_aside(connection, session_id, database.clock())
            done.append(f"Of session {session_id} was set aside, in the table damaged_rows: {named(found)}.")
    return done


def _rebuild_search(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.OperationalError):  # some systems' SQLite lets nobody write it
        connection.execute(SET_STRUCTURE, (NO_PARTS,))  # one that is damaged keeps the table from being used at all
    connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")


def _in_transaction(path: Path, step: Callable[[sqlite3.Connection], object]) -> None:
    with contextlib.closing(connect(path, "rw")) as connection:
        deadline = time.monotonic() + _PATIENCE
        retried(lambda: connection.execute("BEGIN IMMEDIATE"), deadline)
        step(connection)
        retried(connection.commit, deadline)


def _make_private(path: Path, blobs: Path) -> str:
    for entry in (path, wal_of(path), shm_of(path), blobs):
        with contextlib.suppress(FileNotFoundError):
            entry.chmod(0o700 if entry.is_dir() else 0o600)
    return "The files are now readable by you alone."


def _rebuild(findings: Findings, blobs: Path, now: float) -> RepairReport:
    path = findings.path
    user = _user(findings)
    if user:
        return RepairReport(
            refused=f"{path} has to be replaced by a new file, which is not possible now: {user}. Close it (in every "
            "editor and terminal) and run `hermes-acp doctor --fix` again."
        )
    target = path.with_name(f"{path.name}.{os.getpid()}.new")
    target.unlink(missing_ok=True)
    try:
        salvaged = salvage(path, target)
        with target.open("rb") as stream:
            os.fsync(stream.fileno())
        aside = _exchange(path, target, now)
    finally:
        for leftover in (target, target.with_name(f"{target.name}-journal")):
            leftover.unlink(missing_ok=True)
    done = [f"What can be read was saved into a new {path}; the broken file is now {aside}."]
    with contextlib.suppress(StoreError):
        done += repair(path, blobs, now).done
    return RepairReport(tuple(done), set_aside=aside, salvaged=salvaged)


def _exchange(path: Path, target: Path, now: float) -> Path:
    """Give the broken file another name, its log with it, and the new one its place."""
    place = Path(os.path.realpath(path))
    aside = _free_name(path, now)
    _keep_as(place, aside)
    # Gone before the new file is in place: the old log must never be taken for that of the new file.
    _set_log_aside(path, aside)
    target.replace(place)
    return aside


def _set_log_aside(path: Path, aside: Path) -> None:
    is_empty = not wal_of(path).exists() or not wal_of(path).stat().st_size
    for name in (wal_of(path), shm_of(path)):
        if is_empty:  # there is nothing in them
            name.unlink(missing_ok=True)
        elif name.exists():
            name.replace(aside.with_name(f"{aside.name}{name.name[-4:]}"))


def _keep_as(place: Path, aside: Path) -> None:
    try:
        os.link(place, aside)
    except OSError:  # a file system without links: for a moment there is no database
        place.replace(aside)
    aside.chmod(0o600)


def _free_name(path: Path, now: float) -> Path:
    stem = f"{path.name}.broken-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    number = 1
    name = stem
    while any(path.with_name(f"{name}{suffix}").exists() for suffix in ("", "-wal")):
        number += 1
        name = f"{stem}-{number}"
    return path.with_name(name)


def _user(findings: Findings) -> str:
    """Who has the database open; '' if nobody has."""
    if findings.holders:
        named = {f"{holder.program} (process {holder.pid} on {holder.host})" for holder in findings.holders}
        return f"it is in use by {', '.join(sorted(named))}"
    if _is_locked(shm_of(findings.path), _SHM_IN_USE, 1) or _is_locked(findings.path, *_DATABASE_LOCKS):
        return "another process has it open"
    return ""


def _is_locked(path: Path, start: int, length: int) -> bool:
    """True if another process holds a lock on these bytes."""
    if sys.platform == "win32":  # where nobody can rename what another has open: the repair's own rename tells
        return False
    import fcntl  # noqa: PLC0415 - not on every system

    try:
        with path.open("r+b") as stream:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
    except FileNotFoundError:
        return False
    except (BlockingIOError, PermissionError):
        return True
    return False
