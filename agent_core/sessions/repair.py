"""What state the database is in, and repairing it. Nothing that was stored is deleted."""

from __future__ import annotations

import contextlib
import glob
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Literal

from agent_core.errors import StoreError, StoreFault
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.damaged_rows import Damage, damaged_rows, named, set_aside
from agent_core.sessions.database import Database
from agent_core.sessions.leases import holder_of, is_alive, start_of
from agent_core.sessions.records import Holder
from agent_core.sessions.salvage import salvage
from agent_core.sessions.schema import (
    connect,
    files_of,
    journal_of,
    known_migrations,
    look,
    migrate,
    read_header,
    shm_of,
    sync,
    version_of,
    wal_of,
)
from agent_core.sessions.search_index import NO_PARTS, SET_STRUCTURE
from agent_core.sessions.store_errors import READING_FAULTS, retried, store_error
from tools.light_dataclass import dataclass

# What an examination finds.

Remedy = Literal["", "in place", "rebuild"]
"""What `repair` would do: nothing; repair it where it is; set the file aside and save what can be read of it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, in one sentence, and what `repair` would do about it."""

    subject: Literal["file", "pages", "rows", "index", "search", "references", "schema", "drafts"]
    text: str
    remedy: Remedy = ""


@dataclass(slots=True)
class Findings:
    """What was found, as far as it could be read.

    Attributes:
        fault: why the file cannot be used at all, as in StoreError.kind; '' if it can.
        version: the schema's; 0 where it is not known.
        size: in bytes, with the log.
        sessions, messages: how many.
        contents, contents_size: kept contents of files, and their bytes on disk.
        holders: living processes that prompt sessions.
        beside: files of earlier repairs and updates next to the database.
    """

    path: Path
    exists: bool = True
    fault: StoreFault | Literal[""] = ""
    problems: list[Problem] = field(default_factory=list)
    version: int = 0
    size: int = 0
    sessions: int = 0
    messages: int = 0
    holders: tuple[Holder, ...] = ()
    contents: int = 0
    contents_size: int = 0
    beside: tuple[Path, ...] = ()

    @property
    def remedy(self) -> Remedy:
        """The strongest remedy among the problems."""
        remedies = {problem.remedy for problem in self.problems}
        return "rebuild" if "rebuild" in remedies else "in place" if "in place" in remedies else ""


# The examination itself changes nothing.

_PATIENCE = 5.0
_MOST_FAULTS = 20
_INDEX_FAULTS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_SEARCH_FAULTS = ("fts5", "messages_fts")


def examine(path: Path, blobs: Path | None = None, now: float | None = None) -> Findings:
    """Look at the database at `path`, and count the kept contents below `blobs` («blobs» beside it if left out).

    Every page is read: it takes about a second for each few hundred MB. Other processes may use the file meanwhile.

    Args:
        now: seconds since the epoch, for telling dead holders.
    """
    blobs = path.parent / "blobs" if blobs is None else blobs
    found = Findings(path, size=sum(file.stat().st_size for file in (path, wal_of(path)) if file.exists()))
    found.beside = tuple(sorted([*_beside(path, ".v*.bak"), *_beside(path, ".broken-*")]))
    found.problems += [
        Problem("drafts", f"{draft} was left half-written by a process that was ended.", "in place")
        for draft in _abandoned_drafts(path)
    ]
    try:
        header = look(path, known_migrations()[-1].number)
    except (StoreError, OSError) as problem:
        told = problem if isinstance(problem, StoreError) else store_error(problem, path)
        found.fault = told.kind
        found.problems.append(Problem("file", str(told), "rebuild" if _is_no_database(path) else ""))
        return found
    if header is None:
        found.exists = path.exists()
        return found
    found.version = header.version
    with contextlib.suppress(OSError):
        sizes = [blob.size for blob in BlobStore(blobs).files()]
        found.contents, found.contents_size = len(sizes), sum(sizes)
    try:
        _look_within(found, time.time() if now is None else now)
    except READING_FAULTS as problem:
        _note(found, problem)
    return found


def _look_within(found: Findings, now: float) -> None:
    """What SQLite tells, as far as it goes. Raises sqlite3.Error where the file cannot be opened."""
    # A log that is there stays as it is. Without one SQLite has to be able to remove its own again; and a hot journal
    # has to be rolled back before anything is read.
    keeps_log = wal_of(found.path).exists() and not journal_of(found.path).exists()
    with contextlib.closing(connect(found.path, "ro" if keeps_log else "rw")) as connection:
        connection.execute("PRAGMA cell_size_check = ON")
        retried(lambda: version_of(connection), time.monotonic() + _PATIENCE)
        steps = (
            _count(found, connection, now),
            _page_problems(connection),
            _schema_problems(connection),
            _reference_problems(connection),
            _row_problems(found, connection),
            () if keeps_log else _search_problems(found, connection),
        )
        for step in steps:
            try:
                found.problems.extend(step)
            except READING_FAULTS as problem:  # the next one may look at other pages
                _note(found, problem)


def _note(found: Findings, problem: sqlite3.Error | UnicodeDecodeError) -> None:
    told = store_error(problem, found.path)
    found.fault = told.kind
    if str(told) not in {known.text for known in found.problems}:
        found.problems.append(Problem("pages", str(told), "rebuild" if told.kind == "corrupt" else ""))


def _count(found: Findings, connection: sqlite3.Connection, now: float) -> Iterator[Problem]:
    rows = connection.execute(
        "SELECT holder, holder_token, holder_until FROM sessions WHERE holder_token IS NOT NULL"
    )
    holders = [holder for row in rows if (holder := holder_of(*row)) is not None and is_alive(holder, now)]
    found.holders = tuple({holder.token: holder for holder in holders}.values())
    found.sessions = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    found.messages = connection.execute("SELECT count(*) FROM messages").fetchone()[0]
    yield from ()


def _page_problems(connection: sqlite3.Connection) -> Iterator[Problem]:
    faults = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})")]
    faults = [fault for fault in faults if fault != "ok"]
    search = [fault for fault in faults if any(word in fault for word in _SEARCH_FAULTS)]
    index = [fault for fault in faults if fault not in search and any(word in fault for word in _INDEX_FAULTS)]
    pages = [fault for fault in faults if fault not in search and fault not in index]
    if pages:
        yield Problem("pages", f"Parts of the file are damaged: {_some(pages)}.", "rebuild")
    if index:
        yield Problem("index", f"An index does not match its table: {_some(index)}.", "in place")
    if search:
        yield Problem("search", f"The search index is damaged: {_some(search)}.", "in place")


def _some(faults: list[str]) -> str:
    shown = "; ".join(fault.strip().replace("\n", " ") for fault in faults[:3])
    return shown if len(faults) <= 3 else f"{shown}; and more"  # noqa: PLR2004


def _schema_problems(connection: sqlite3.Connection) -> Iterator[Problem]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(fresh, known_migrations()[: version_of(connection)], 0)
        missing = sorted(_names(fresh) - _names(connection))
    if missing:
        yield Problem("schema", f"Tables or indexes are missing: {', '.join(missing)}.", "rebuild")


def _names(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}


def _reference_problems(connection: sqlite3.Connection) -> Iterator[Problem]:
    orphans = sum(1 for _ in connection.execute("PRAGMA foreign_key_check"))
    if orphans:
        yield Problem("references", f"{orphans} rows belong to sessions or messages that are not there.", "rebuild")


def _row_problems(found: Findings, connection: sqlite3.Connection) -> Iterator[Problem]:
    if found.remedy == "rebuild":  # rows are looked at in the new file
        return
    of_sessions: dict[str, list[Damage]] = {}
    for damage in damaged_rows(connection):
        of_sessions.setdefault(damage.session_id, []).append(damage)
    for session_id, damages in of_sessions.items():
        yield Problem("rows", f"Parts of session {session_id} are damaged: {named(damages)}.", "in place")


def _search_problems(found: Findings, connection: sqlite3.Connection) -> Iterator[Problem]:
    """Whether the search index has what the texts have. Asking locks the file: not while sessions are in use."""
    if found.holders or found.remedy == "rebuild" or "messages_fts" not in _names(connection):
        return
    retried(lambda: connection.execute("BEGIN IMMEDIATE"), time.monotonic() + _PATIENCE)
    try:
        connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as problem:
        if store_error(problem, found.path).kind != "corrupt":
            raise
        yield Problem("search", f"The search index does not match the messages ({problem}).", "in place")
    finally:
        connection.rollback()


def _is_no_database(path: Path) -> bool:
    """Whether the file in our place is neither another program's database nor a later one of ours."""
    with contextlib.suppress(OSError):
        header = read_header(path)
        return header is not None and not header.is_sqlite
    return False


def _beside(path: Path, pattern: str) -> Iterator[Path]:
    return path.parent.glob(glob.escape(path.name) + pattern)


def _abandoned_drafts(path: Path) -> list[Path]:
    """New databases that killed processes have not put into their place, and what belongs to them."""
    return [draft for draft in sorted(_beside(path, ".*.new*")) if not _runs(draft.name[len(path.name) + 1 :])]


def _runs(name: str) -> bool:
    try:
        return start_of(int(name.partition(".")[0])) is not None
    except (ValueError, OSError, subprocess.SubprocessError):
        return True  # not known, or none of ours


# What can be repaired where it is (indexes, the search index, single rows) is. A file with damaged pages is read row
# by row into a new one; then the damaged file gets another name and the new one its place. At every moment the
# damaged file is there under one of its two names, and the next repair does what was left undone.

_SHM_IN_USE = 128  # the byte of the log's index that every connection holds a lock on
_DATABASE_LOCKS = (0x40000000, 512)
_MOST_ROUNDS = 3  # what is wrong in single rows shows only once the pages are right


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was done.

    Attributes:
        done: one sentence for each thing.
        refused: why something was not done, and what to do; '' if everything was.
        set_aside: where the broken file is now; its log, if it had one, is beside it.
    """

    done: tuple[str, ...] = ()
    refused: str = ""
    set_aside: Path | None = None


def repair(path: Path, now: float | None = None) -> RepairReport:
    """Repair the database at `path`. This process must not have it open.

    Args:
        now: seconds since the epoch, for the broken file's name and for telling dead holders.

    Raises:
        StoreError: it could not be repaired; nothing was lost.
    """
    now = time.time() if now is None else now
    done: dict[str, None] = {}
    aside, refused = None, ""
    try:
        for draft in _abandoned_drafts(path):
            draft.unlink(missing_ok=True)
            done[f"{draft} was removed: it was half-written."] = None
        for _ in range(_MOST_ROUNDS):
            found = examine(path, now=now)
            if found.remedy == "rebuild" and (user := _user(found)):
                refused = (
                    f"{path} has to be replaced by a new file, which is not possible now: {user}. Close it (in every "
                    "editor and terminal) and run `hermes-acp doctor --fix` again."
                )
                break
            if found.remedy == "rebuild":
                aside, sentences = _rebuild(path, now)
                done |= dict.fromkeys(sentences)
            elif found.remedy:
                done |= dict.fromkeys(_repair_in_place(found))
            else:
                refused = " ".join(problem.text for problem in found.problems if found.fault)
                break
    except (*READING_FAULTS, OSError) as problem:
        raise store_error(problem, path) from problem
    return RepairReport(tuple(done), refused, aside)


def _repair_in_place(found: Findings) -> Iterator[str]:
    path, subjects = found.path, {problem.subject for problem in found.problems if problem.remedy}
    if "index" in subjects:
        with _transaction(path) as connection:
            connection.execute("REINDEX")
        yield "The indexes were made anew."
    if "search" in subjects:
        with _transaction(path) as connection:
            with contextlib.suppress(sqlite3.OperationalError):  # some systems' SQLite lets nobody write it
                # One that is damaged keeps the table from being used at all.
                connection.execute(SET_STRUCTURE, (NO_PARTS,))
            connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")
        yield "The search index was made anew."
    if "rows" in subjects:
        with contextlib.closing(Database(path)) as database:  # which brings a file of an earlier format forward
            with database.read() as connection:
                sessions = sorted({damage.session_id for damage in damaged_rows(connection)})
            for session_id in sessions:
                with database.write() as connection:
                    damages = set_aside(connection, session_id, database.clock())
                yield f"Of session {session_id} was set aside, in the table damaged_rows: {named(damages)}."


@contextlib.contextmanager
def _transaction(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(path, "rw")) as connection:
        deadline = time.monotonic() + _PATIENCE
        retried(lambda: connection.execute("BEGIN IMMEDIATE"), deadline)
        yield connection
        retried(connection.commit, deadline)


def _rebuild(path: Path, now: float) -> tuple[Path, list[str]]:
    """Put a new file with what can be read into the damaged one's place: where that is now, and what to tell.

    Nothing at its place is touched before the new file is whole.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        new.unlink(missing_ok=True)
        told = salvage(path, new)
        sync(new)
        aside = _exchange(path, new, now)
    finally:
        for leftover in files_of(new):
            leftover.unlink(missing_ok=True)
    return aside, [f"What can be read was saved into a new {path}; the broken file is now {aside}.", *told]


def _exchange(path: Path, new: Path, now: float) -> Path:
    """Give the broken file another name, its log with it, and the new one its place."""
    place, aside = Path(os.path.realpath(path)), _free_name(path, now)
    try:
        os.link(place, aside)
    except OSError:  # a file system without links: for a moment there is no database
        place.replace(aside)
    aside.chmod(0o600)
    # Gone before the new file is in place: the old log must never be taken for that of the new file.
    log = wal_of(path)
    has_content = log.exists() and log.stat().st_size
    for file, suffix in ((log, "-wal"), (shm_of(path), "-shm")):
        if has_content and file.exists():
            file.replace(f"{aside}{suffix}")
        else:
            file.unlink(missing_ok=True)
    new.replace(place)
    return aside


def _free_name(path: Path, now: float) -> Path:
    stem = f"{path.name}.broken-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    name, number = stem, 1
    while any(path.with_name(f"{name}{suffix}").exists() for suffix in ("", "-wal")):
        number += 1
        name = f"{stem}-{number}"
    return path.with_name(name)


def _user(found: Findings) -> str:
    """Who has the database open; '' if nobody has."""
    if found.holders:
        holders = {f"{holder.program} (process {holder.pid} on {holder.host})" for holder in found.holders}
        return f"it is in use by {', '.join(sorted(holders))}"
    if _is_locked(shm_of(found.path), _SHM_IN_USE, 1) or _is_locked(found.path, *_DATABASE_LOCKS):
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
