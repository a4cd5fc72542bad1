"""What state the database and the kept file contents are in, and mending them. Nothing is ever deleted."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Literal

from agent_core.errors import StoreError, StoreFault
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.damaged_rows import Damage, damaged_rows, named, set_aside
from agent_core.sessions.database import Database
from agent_core.sessions.leases import holder_of, is_alive
from agent_core.sessions.records import Holder
from agent_core.sessions.salvage import Salvaged, salvage
from agent_core.sessions.schema import (
    connect,
    journal_of,
    known_migrations,
    look,
    migrate,
    read_header,
    shm_of,
    version_of,
    wal_of,
)
from agent_core.sessions.search_index import NO_PARTS, SET_STRUCTURE
from agent_core.sessions.store_errors import READING_FAULTS, retried, store_error
from tools.light_dataclass import dataclass

# Which kept file contents are referred to, and which are there.

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BlobFacts:
    """Numbers of kept contents.

    Attributes:
        present, size: how many there are, and their bytes on disk.
        missing, damaged: referred to, but not there, or not what they were.
        unreadable: why the directory could not be read; '' if it could. The other numbers say nothing then.
    """

    present: int = 0
    size: int = 0
    missing: int = 0
    damaged: int = 0
    unreadable: str = ""


def blob_facts(connection: sqlite3.Connection | None, root: Path) -> BlobFacts:
    """Compare what the database refers to with what is below `root`. Without a database nothing is referred to.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    wanted = set() if connection is None else referenced(connection)
    try:
        sizes = {blob.hash: blob.size for blob in BlobStore(root).files()}
    except OSError as problem:
        return BlobFacts(unreadable=problem.strerror or type(problem).__name__)
    if wanted and not root.is_dir():
        return BlobFacts(missing=len(wanted), unreadable="there is no such directory")
    present, blobs = sizes.keys(), BlobStore(root)
    return BlobFacts(
        len(sizes),
        sum(sizes.values()),
        missing=len(wanted - present),
        damaged=sum(blobs.is_damaged(name) for name in wanted & present),
    )


def referenced(connection: sqlite3.Connection) -> set[str]:
    """The hashes of contents that undo would need."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'file_versions'").fetchone():
        return set()
    rows = connection.execute("SELECT DISTINCT before_hash FROM file_versions WHERE lost = ''")
    return {row[0] for row in rows if row[0] is not None and _HASH.fullmatch(row[0])}


def mark_lost(connection: sqlite3.Connection, root: Path) -> None:
    """Note with each version whose content is missing or damaged that it is, so that undo tells.

    What is damaged is kept under another name, so that the same content can be kept anew.

    Raises:
        sqlite3.Error: it could not be noted. OSError: a damaged content could not be renamed.
    """
    blobs = BlobStore(root)
    for name in referenced(connection):
        if not blobs.has(name):
            lost = "its content was missing when the database was repaired"
        elif blobs.is_damaged(name):
            blobs.set_aside(name)
            lost = "its content was damaged when the database was repaired"
        else:
            continue
        connection.execute("UPDATE file_versions SET lost = ? WHERE before_hash = ? AND lost = ''", (lost, name))


# What an examination of the database has found.

Remedy = Literal["", "in place", "rebuild"]
"""What `repair` would do: nothing; mend it where it is; set the file aside and save what can be read of it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, in one sentence, and what `repair` would do about it.

    Attributes:
        is_notice: nothing is wrong, but it is good to know.
    """

    subject: Literal["file", "pages", "rows", "index", "search", "references", "schema", "blobs"]
    text: str
    remedy: Remedy = ""
    is_notice: bool = False


@dataclass(slots=True)
class Findings:
    """What was found, as far as it could be read.

    Attributes:
        fault: why the file cannot be used at all, as in StoreError.kind; '' if it can.
        version: the schema's; 0 where it is not known.
        size: in bytes, with the log.
        sessions, messages: how many; None where they cannot be counted.
        holders: living processes that prompt sessions.
        beside: files of earlier repairs and updates next to the database.
    """

    path: Path
    exists: bool = True
    fault: StoreFault | Literal[""] = ""
    problems: list[Problem] = field(default_factory=list)
    version: int = 0
    size: int = 0
    sessions: int | None = None
    messages: int | None = None
    holders: tuple[Holder, ...] = ()
    blobs: BlobFacts = field(default_factory=BlobFacts)
    beside: tuple[Path, ...] = ()

    @property
    def remedy(self) -> Remedy:
        """The strongest remedy among the problems."""
        remedies = {problem.remedy for problem in self.problems}
        return "rebuild" if "rebuild" in remedies else "in place" if "in place" in remedies else ""


# The examination itself changes nothing.

_PATIENCE = 2.0
_MOST_FAULTS = 20
_INDEX_FAULTS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_SEARCH_FAULTS = ("fts5", "messages_fts")


def examine(path: Path, blobs: Path | None = None, now: float | None = None) -> Findings:
    """Look at the database at `path` and at the kept contents below `blobs` («blobs» beside it if left out).

    Every page is read: it takes about a second for each few hundred MB. Other processes may use the file meanwhile.

    Args:
        now: seconds since the epoch, for telling dead holders.
    """
    blobs = path.parent / "blobs" if blobs is None else blobs
    found = Findings(path, size=_size(path) + _size(wal_of(path)))
    found.beside = tuple(
        sorted((*path.parent.glob(f"{path.name}.v*.bak"), *path.parent.glob(f"{path.name}.broken-*")))
    )
    try:
        header = look(path, known_migrations()[-1].number)
    except (StoreError, OSError) as problem:
        told = problem if isinstance(problem, StoreError) else store_error(problem, path)
        found.fault = told.kind
        found.problems.append(Problem("file", str(told), "rebuild" if _can_be_ours(path, told.kind) else ""))
        return found
    if header is None:
        found.exists, found.blobs = path.exists(), blob_facts(None, blobs)
        return found
    found.version = header.version
    _look_within(found, blobs, time.time() if now is None else now)
    return found


def _look_within(found: Findings, blobs: Path, now: float) -> None:
    """What SQLite tells, as far as it goes."""
    had_log = wal_of(found.path).exists()
    steps: tuple[Callable[[sqlite3.Connection], None], ...] = (
        lambda connection: _tell_holders(found, connection, now),
        lambda connection: found.problems.extend(_page_problems(connection)),
        lambda connection: found.problems.extend(_schema_problems(connection)),
        lambda connection: _count(found, connection),
        lambda connection: found.problems.extend(_reference_problems(connection)),
        lambda connection: _tell_blobs(found, connection, blobs),
        lambda connection: _tell_rows(found, connection),
    )
    try:
        with contextlib.closing(_look_into(found.path)) as connection:
            for step in steps:
                try:
                    step(connection)
                except READING_FAULTS as problem:  # the next one may look at other pages
                    _note(found, problem)
        if found.remedy != "rebuild" and not had_log:
            found.problems.extend(_search_problems(found))
            _tidy(found.path)
    except READING_FAULTS as problem:
        _note(found, problem)


def _tidy(path: Path) -> None:
    """Have SQLite remove the empty log that reading has left, unless someone uses it. Raises sqlite3.Error."""
    with contextlib.closing(connect(path, "rw")) as connection:
        version_of(connection)


def _note(found: Findings, problem: sqlite3.Error | UnicodeDecodeError) -> None:
    told = store_error(problem, found.path)
    found.fault = told.kind
    if str(told) not in {known.text for known in found.problems}:
        found.problems.append(Problem("pages", str(told), "rebuild" if told.kind == "corrupt" else ""))


def _look_into(path: Path) -> sqlite3.Connection:
    """A connection that only reads and leaves the log as it is; sqlite3.Error where there is none."""
    mode = "rw" if journal_of(path).exists() else "ro"  # a hot journal has to be rolled back before anything is read
    connection = connect(path, mode)
    try:
        connection.execute("PRAGMA cell_size_check = ON")
        retried(lambda: version_of(connection), time.monotonic() + _PATIENCE)
    except BaseException:
        connection.close()
        raise
    return connection


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


def _schema_problems(connection: sqlite3.Connection) -> Iterator[Problem]:
    version = version_of(connection)
    steps = known_migrations()
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(fresh, steps[:version], 0)
        missing = sorted(_names(fresh) - _names(connection))
    if missing:
        yield Problem("schema", f"Tables or indexes are missing: {', '.join(missing)}.", "rebuild")
    elif version < steps[-1].number:
        text = f"Its format is {version}; the next start brings it to {steps[-1].number} and keeps a copy."
        yield Problem("schema", text, is_notice=True)


def _names(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")}


def _reference_problems(connection: sqlite3.Connection) -> Iterator[Problem]:
    orphans = sum(1 for _ in connection.execute("PRAGMA foreign_key_check"))
    if orphans:
        yield Problem("references", f"{orphans} rows belong to sessions or messages that are not there.", "rebuild")


def _tell_rows(found: Findings, connection: sqlite3.Connection) -> None:
    if found.remedy == "rebuild":  # rows are looked at in the new file
        return
    of_sessions: dict[str, list[Damage]] = {}
    for damage in damaged_rows(connection):
        of_sessions.setdefault(damage.session_id, []).append(damage)
    for session_id, damages in of_sessions.items():
        text = f"Parts of session {session_id} are damaged: {named(damages)}."
        found.problems.append(Problem("rows", text, "in place"))


def _search_problems(found: Findings) -> Iterator[Problem]:
    """Whether the search index has what the texts have. Asking locks the file: not while sessions are in use.

    Nor where there is a log, which closing would empty: looking changes nothing.
    """
    if found.holders:
        return
    with contextlib.closing(connect(found.path, "rw")) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages_fts'").fetchone():
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


def _tell_blobs(found: Findings, connection: sqlite3.Connection, root: Path) -> None:
    facts = found.blobs = blob_facts(connection, root)
    if facts.unreadable:
        # Perhaps a disk that is not mounted: what it holds is not given up.
        text = f"{root}, where earlier contents of files are kept, cannot be read: {facts.unreadable}."
        found.problems.append(Problem("blobs", text))
        return
    for count, what in ((facts.missing, "missing from"), (facts.damaged, "damaged in")):
        if count:
            text = f"{count} earlier contents of changed files are {what} {root}: undo cannot bring them back."
            found.problems.append(Problem("blobs", text, "in place"))


def _tell_holders(found: Findings, connection: sqlite3.Connection, now: float) -> None:
    rows = connection.execute(
        "SELECT holder, holder_token, holder_until FROM sessions WHERE holder_token IS NOT NULL"
    )
    holders = [holder for row in rows if (holder := holder_of(*row)) is not None and is_alive(holder, now)]
    found.holders = tuple({holder.token: holder for holder in holders}.values())


def _can_be_ours(path: Path, kind: StoreFault) -> bool:
    """True where the file at our own place is damaged, and not simply another program's or a later one's."""
    with contextlib.suppress(OSError):
        header = read_header(path)
        return kind in {"corrupt", "foreign"} and header is not None and not header.is_sqlite
    return False


def _count(found: Findings, connection: sqlite3.Connection) -> None:
    found.sessions = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    found.messages = connection.execute("SELECT count(*) FROM messages").fetchone()[0]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _some(faults: list[str]) -> str:
    shown = "; ".join(fault.strip().replace("\n", " ") for fault in faults[:3])
    return shown if len(faults) <= 3 else f"{shown}; and more"  # noqa: PLR2004


# What can be mended where it is (indexes, the search index, single rows) is. A file with damaged pages is read row by
# row into a new one; then the damaged file gets another name and the new one its place. At every moment the damaged
# file is there under one of its two names, and the next repair does what was left undone.

_REPAIR_PATIENCE = 5.0
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
            done = tuple(_mend(findings, blobs))
            again = examine(path, blobs, now)
            if again.remedy != "rebuild":
                return RepairReport(done)
            findings = again
        if findings.remedy == "rebuild":
            return _rebuild(findings, blobs, now)
    except (*READING_FAULTS, OSError) as problem:
        raise store_error(problem, path) from problem
    unmended = [problem.text for problem in findings.problems if findings.fault]
    return RepairReport(refused=" ".join(unmended))


def _mend(findings: Findings, blobs: Path) -> Iterator[str]:
    path, subjects = findings.path, {problem.subject for problem in findings.problems if problem.remedy == "in place"}
    steps: list[tuple[str, str, Callable[[sqlite3.Connection], object]]] = [
        ("index", "The indexes were made anew.", lambda connection: connection.execute("REINDEX")),
        ("search", "The search index was made anew.", _rebuild_search),
        ("blobs", "Changes whose earlier content is lost are marked.", lambda found: mark_lost(found, blobs)),
    ]
    for subject, text, step in steps:
        if subject in subjects:
            _in_transaction(path, step)
            yield text
    if "rows" in subjects:
        yield from _set_rows_aside(path)


def _set_rows_aside(path: Path) -> Iterator[str]:
    with contextlib.closing(Database(path)) as database:  # which brings a file of an earlier format forward
        with database.read() as connection:
            sessions = sorted({damage.session_id for damage in damaged_rows(connection)})
        for session_id in sessions:
            with database.write() as connection:
                found = set_aside(connection, session_id, database.clock())
            yield f"Of session {session_id} was set aside, in the table damaged_rows: {named(found)}."


def _rebuild_search(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.OperationalError):  # some systems' SQLite lets nobody write it
        connection.execute(SET_STRUCTURE, (NO_PARTS,))  # one that is damaged keeps the table from being used at all
    connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")


def _in_transaction(path: Path, step: Callable[[sqlite3.Connection], object]) -> None:
    with contextlib.closing(connect(path, "rw")) as connection:
        deadline = time.monotonic() + _REPAIR_PATIENCE
        retried(lambda: connection.execute("BEGIN IMMEDIATE"), deadline)
        step(connection)
        retried(connection.commit, deadline)


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
