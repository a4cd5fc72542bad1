"""What state the database and the kept file contents are in; looking changes nothing."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Literal

from agent_core.errors import StoreError, StoreFault
from agent_core.sessions.database.file_header import journal_of, read_header, shm_of, wal_of
from agent_core.sessions.database.migrating import known_migrations, migrate, version_of
from agent_core.sessions.database.opening import connect, look
from agent_core.sessions.database.patience import retried
from agent_core.sessions.database.store_faults import READING_FAULTS, store_error
from agent_core.sessions.live.leases import holder_of, is_alive
from agent_core.sessions.records import Holder
from agent_core.sessions.repair.blob_facts import BlobFacts, blob_facts
from agent_core.sessions.repair.damaged_rows import Damage, damaged_rows, named
from agent_core.sessions.repair.findings import Findings, Problem, Remedy
from tools.light_dataclass import dataclass

_PATIENCE = 2.0
_MOST_FAULTS = 20
_MOST_COPIED = 256 << 20  # into memory
_INDEX_FAULTS = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_SEARCH_FAULTS = ("fts5", "messages_fts")
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine(path: Path, blobs: Path | None = None, now: float | None = None) -> Findings:
    """Look at the database at `path` and at the kept contents below `blobs` («blobs» beside it if left out).

    Every page is read: it takes about a second for each few hundred MB. Other processes may use the file meanwhile.

    Args:
        now: seconds since the epoch, for telling dead holders.
    """
    blobs = path.parent / "blobs" if blobs is None else blobs
    beside = tuple(sorted({*path.parent.glob(f"{path.name}.v*.bak"), *path.parent.glob(f"{path.name}.broken-*")}))
    permissions = tuple(_open_permissions(path, blobs))
    try:
        header = look(path, known_migrations()[-1].number)
    except (StoreError, OSError) as problem:
        told = problem if isinstance(problem, StoreError) else store_error(problem, path)
        rebuild: Remedy = "rebuild" if _can_be_ours(path, told.kind) else ""
        return Findings(
            path,
            exists=True,
            fault=told.kind,
            problems=(Problem("file", str(told), rebuild),),
            size=_size(path),
            wal_size=_size(wal_of(path)),
            beside=beside,
        )
    if header is None:
        return Findings(path, path.exists(), problems=permissions, blobs=blob_facts(None, blobs), beside=beside)
    log = tuple(_log_problem(path))  # now: SQLite may remove what it takes for nothing
    found = _within(path, blobs, time.time() if now is None else now)
    return Findings(
        path,
        exists=True,
        fault=found.fault,
        problems=(*found.problems, *log, *permissions),
        version=header.version,
        journal_mode="wal" if header.is_wal else "delete",
        size=_size(path),
        wal_size=_size(wal_of(path)),
        sessions=found.sessions,
        messages=found.messages,
        holders=found.holders,
        abandoned=found.abandoned,
        blobs=found.blobs,
        beside=beside,
    )


@dataclass(slots=True)
class _Inside:
    """What SQLite tells, as far as it went."""

    fault: StoreFault | Literal[""] = ""
    problems: list[Problem] = field(default_factory=list)
    sessions: int | None = None
    messages: int | None = None
    holders: tuple[Holder, ...] = ()
    abandoned: int = 0
    blobs: BlobFacts = field(default_factory=BlobFacts)

    @property
    def needs_rebuild(self) -> bool:
        return any(problem.remedy == "rebuild" for problem in self.problems)


def _within(path: Path, blobs: Path, now: float) -> _Inside:
    inside = _Inside()
    had_log = wal_of(path).exists()
    steps: tuple[Callable[[sqlite3.Connection], None], ...] = (
        lambda connection: _tell_holders(inside, connection, now),
        lambda connection: inside.problems.extend(_page_problems(connection)),
        lambda connection: inside.problems.extend(_schema_problems(connection)),
        lambda connection: _count(inside, connection),
        lambda connection: inside.problems.extend(_reference_problems(connection)),
        lambda connection: _tell_rows(inside, connection),
        lambda connection: _tell_blobs(inside, connection, blobs),
        lambda connection: _tell_search(inside, connection, path),
    )
    try:
        with contextlib.closing(_look_into(path)) as connection:
            for step in steps:
                try:
                    step(connection)
                except READING_FAULTS as problem:  # the next one may look at other pages
                    _note(inside, problem, path)
        if not had_log and not inside.needs_rebuild:
            _tidy(path)
    except READING_FAULTS as problem:
        _note(inside, problem, path)
    return inside


def _tidy(path: Path) -> None:
    """Have SQLite remove the empty log that reading has left, unless someone uses it. Raises sqlite3.Error."""
    with contextlib.closing(connect(path, "rw")) as connection:
        version_of(connection)


def _note(inside: _Inside, problem: sqlite3.Error | UnicodeDecodeError, path: Path) -> None:
    told = store_error(problem, path)
    inside.fault = told.kind
    if str(told) not in {known.text for known in inside.problems}:
        inside.problems.append(Problem("pages", str(told), "rebuild" if told.kind == "corrupt" else ""))


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


def _tell_rows(inside: _Inside, connection: sqlite3.Connection) -> None:
    if not inside.needs_rebuild:  # what makes no sense stays in the broken file then
        inside.problems += _row_problems(connection)


def _row_problems(connection: sqlite3.Connection) -> Iterator[Problem]:
    of_sessions: dict[str, list[Damage]] = {}
    for damage in damaged_rows(connection):
        of_sessions.setdefault(damage.session_id, []).append(damage)
    for session_id, found in of_sessions.items():
        yield Problem("rows", f"Parts of session {session_id} are damaged: {named(found)}.", "in place")


def _search_problems(connection: sqlite3.Connection, path: Path, *, is_in_use: bool) -> Iterator[Problem]:
    """Whether the search index has what the texts have. Asking locks the file, so a copy is asked."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages_fts'").fetchone():
        return
    if _size(path) > _MOST_COPIED and is_in_use:
        yield Problem("search", "The search index was not examined: sessions are in use.", is_notice=True)
        return
    with contextlib.closing(_copy_of(connection) if _size(path) <= _MOST_COPIED else connect(path, "rw")) as asked:
        retried(lambda: asked.execute("BEGIN IMMEDIATE"), time.monotonic() + _PATIENCE)
        try:
            asked.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as problem:
            if store_error(problem, path).kind != "corrupt":
                raise
            yield Problem("search", f"The search index does not match the messages ({problem}).", "in place")
        finally:
            asked.rollback()


def _copy_of(connection: sqlite3.Connection) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy


def _tell_search(inside: _Inside, connection: sqlite3.Connection, path: Path) -> None:
    if not inside.needs_rebuild:  # it is made anew then
        inside.problems += _search_problems(connection, path, is_in_use=bool(inside.holders))


def _tell_blobs(inside: _Inside, connection: sqlite3.Connection, root: Path) -> None:
    facts = inside.blobs = blob_facts(connection, root)
    if facts.unreadable:
        # Perhaps a disk that is not mounted: what it holds is not given up.
        text = f"{root}, where earlier contents of files are kept, cannot be read: {facts.unreadable}."
        inside.problems.append(Problem("blobs", text))
        return
    for count, what in ((facts.missing, "missing from"), (facts.damaged, "damaged in")):
        if count:
            text = f"{count} earlier contents of changed files are {what} {root}: undo cannot bring them back."
            inside.problems.append(Problem("blobs", text, "in place"))


def _tell_holders(inside: _Inside, connection: sqlite3.Connection, now: float) -> None:
    rows = connection.execute(
        "SELECT holder, holder_token, holder_until FROM sessions WHERE holder_token IS NOT NULL"
    )
    found = [holder for row in rows if (holder := holder_of(*row)) is not None]
    living = {holder.token: holder for holder in found if is_alive(holder, now)}
    inside.holders = tuple(living.values())
    inside.abandoned = sum(1 for holder in found if holder.token not in living)


def _log_problem(path: Path) -> Iterator[Problem]:
    with contextlib.suppress(OSError), wal_of(path).open("rb") as stream:
        start = stream.read(4)
        if start and start not in _WAL_MAGIC:
            yield Problem(
                "log", f"{wal_of(path)} is not a log of this database; the last changes may be lost.", "in place"
            )


def _open_permissions(path: Path, blobs: Path) -> Iterator[Problem]:
    for entry in (path, wal_of(path), shm_of(path), blobs):
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(entry.stat().st_mode)
            if mode & _OTHERS:
                yield Problem(
                    "permissions", f"{entry} may be used by other users (mode {mode:o}); it is private.", "in place"
                )


def _can_be_ours(path: Path, kind: StoreFault) -> bool:
    """True where the file at our own place is damaged, and not simply another program's or a later one's."""
    with contextlib.suppress(OSError):
        header = read_header(path)
        return kind in {"corrupt", "foreign"} and header is not None and not header.is_sqlite
    return False


def _count(inside: _Inside, connection: sqlite3.Connection) -> None:
    inside.sessions = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
    inside.messages = connection.execute("SELECT count(*) FROM messages").fetchone()[0]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _some(faults: list[str]) -> str:
    shown = "; ".join(fault.strip().replace("\n", " ") for fault in faults[:3])
    return shown if len(faults) <= 3 else f"{shown}; and more"  # noqa: PLR2004
