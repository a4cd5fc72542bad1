"""What files were before tool calls changed them: kept without holding up a call, and within bounds."""

from __future__ import annotations

import logging
import sqlite3
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import ClassVar

from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.blobs import BlobFile, BlobStore
from agent_core.sessions.checkpoints.file_states import (
    NOTHING,
    PRUNED,
    UNKNOWN,
    Cause,
    Change,
    FileState,
    Origin,
    add_changes,
    folder_changed,
    kept_mode,
    look,
    missing_folders,
    noted_rows,
    remove_changes,
    settled,
    sha256,
    shown_path,
    told_elsewhere,
    turn_number,
)
from agent_core.sessions.database import Database
from agent_core.sessions.operations import Operation
from agent_core.sessions.rows import close_turn, insert_turn
from agent_core.sessions.schema import files_of
from tools.changes.facts import ContentCache
from tools.changes.observation import FileBefore, FileDifference, Observation, ObservationLimits
from tools.light_dataclass import dataclass
from tools.ports import CommandSpec, TakeBack, nothing_noted
from tools.result import ChangedFile

# Contents, and what is noted about them in the queue of their session.

log = logging.getLogger(__name__)

_TICK = 1e-6


@dataclass(frozen=True, slots=True)
class VersionLimits:
    """How much is kept of what files were.

    Attributes:
        max_file_bytes: a larger file is not kept.
        max_total_bytes: of all kept contents, as they lie on disk.
        max_age_days: contents are dropped when they are older.
    """

    max_file_bytes: int = 50_000_000
    max_total_bytes: int = 1 << 30
    max_age_days: float = 90.0


Note = Callable[[str, Operation], object]
"""Stores what happened in a session after what waits already, now or as soon as that works; never raises for the
database's sake."""


@dataclass(frozen=True, slots=True)
class CallOfTurn:
    """A tool call, and the turn that it is of. `at` tells apart what one call notes; in seconds since the epoch."""

    turn_id: str
    call_id: str
    at: float


@dataclass(slots=True, eq=False)
class NoteChanges(Operation):
    """Changes of files that are about to be made, or were made.

    Attributes:
        was_tried: it may be stored, for all that is known.
    """

    call: CallOfTurn
    origin: Origin
    changes: Sequence[Change]
    was_tried: bool = False
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Add a row for each change, unless they are there."""
        number = number_for(connection, session_id, self.call)
        was_tried, self.was_tried = self.was_tried, True
        if was_tried and noted_rows(connection, session_id, number, self.call.call_id, self.call.at):
            return
        cause = Cause(session_id, number, self.call.call_id, self.origin)
        add_changes(connection, cause, self.changes, self.call.at)

    def instead(self, why: str) -> Operation | None:
        """The same files, whose past is lost."""
        if all(change.lost for change in self.changes):
            return None
        return NoteChanges(self.call, self.origin, [lost_change(change.path, why) for change in self.changes])


@dataclass(slots=True, eq=False)
class EndCommand(Operation):
    """What a command has changed, in place of what `NoteChanges` of `begun` has told that it might.

    Attributes:
        begun: None where nothing was foreseen.
        named, found: the changes, of files that it names and of others.
        since: when it began, in seconds since the epoch.
        foreign: what of that another session has changed; known once it is stored.
        was_tried: as in `NoteChanges`.
    """

    call: CallOfTurn
    begun: CallOfTurn | None
    named: Sequence[Change]
    found: Sequence[Change]
    since: float
    foreign: AbstractSet[Path] = field(default_factory=frozenset)
    was_tried: bool = False
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Remove what was foreseen, and add what happened."""
        number = number_for(connection, session_id, self.call)
        if (begun := self.begun) is not None:
            rows = noted_rows(connection, session_id, number, begun.call_id, begun.at)
            remove_changes(connection, list(rows.values()))
        was_tried, self.was_tried = self.was_tried, True
        if was_tried and noted_rows(connection, session_id, number, self.call.call_id, self.call.at):
            return
        changes = (*self.named, *self.found)
        self.foreign = told_elsewhere(connection, session_id, changes, self.since) if changes else frozenset()
        self._add(connection, Cause(session_id, number, self.call.call_id, "command"), self.named)
        self._add(connection, Cause(session_id, number, self.call.call_id, "found"), self.found)

    def _add(self, connection: sqlite3.Connection, cause: Cause, changes: Sequence[Change]) -> None:
        own = [change for change in changes if change.path not in self.foreign]
        add_changes(connection, cause, own, self.call.at)


@dataclass(frozen=True, slots=True, eq=False)
class TakeBackChanges(Operation):
    """Changes that were noted were not made."""

    call: CallOfTurn
    needs_lease: ClassVar[bool] = False

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Remove their rows."""
        number = number_for(connection, session_id, self.call)
        rows = noted_rows(connection, session_id, number, self.call.call_id, self.call.at)
        remove_changes(connection, list(rows.values()))


def lost_change(path: Path, why: str) -> Change:
    """A change of a file of which nothing else is known."""
    return Change(path, FileState(UNKNOWN), FileState(UNKNOWN), why)


def number_for(connection: sqlite3.Connection, session_id: str, call: CallOfTurn) -> int:
    """The number of a call's turn. One that has left no row gets one: there is something to be taken back."""
    number = turn_number(connection, session_id, call.turn_id)
    if number is None:
        number = insert_turn(connection, session_id, call.turn_id, call.at)
        close_turn(connection, session_id, number, ended_at=call.at, outcome="", note="")
    return number


# One tool call: what it changes, kept before it is changed.

_MOST_NAMED = 3
_POSTPONED = "the program was ended while it was to be kept"


@dataclass(frozen=True, slots=True)
class CallHistory:
    """Implements `tools.ports.FileHistory` for one tool call.

    Attributes:
        skipped: directories and files that are not looked into for what a command has changed.
    """

    versions: FileVersions
    session_id: str
    turn_id: str
    call_id: str
    roots: tuple[Path, ...]
    cache: ContentCache
    skipped: tuple[Path, ...] = ()

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        """Keep `before`, and note what `path` will hold."""
        try:
            return self._writing(settled(path), before, after)
        except Exception as problem:  # noqa: BLE001 - an edit goes on whatever keeps its past from being kept
            return self.give_up(problem, path)

    def moving(self, source: Path, target: Path) -> TakeBack:
        """Keep the file `source`, and note both ends of its way."""
        try:
            return self._moving(settled(source), settled(target))
        except Exception as problem:  # noqa: BLE001 - as above
            return self.give_up(problem, source, target)

    @contextmanager
    def command(
        self, spec: CommandSpec, unkept: Callable[[str], object] = lambda _: None
    ) -> Iterator[Sequence[ChangedFile]]:
        """Keep what the command names before it runs, and what else it has changed afterwards."""
        watched = self._watch(spec)
        try:
            if watched is not None and (unread := watched.unread()):
                unkept(_named(unread))
            yield () if watched is None else watched.changed
        finally:
            if watched is not None:
                self._finish(watched)

    def give_up(self, problem: Exception, *paths: Path) -> TakeBack:
        """A person who takes the turn back is told of these files, at least."""
        log.error("What %s was is not kept", shown_path(paths[0]), exc_info=problem)
        try:
            why = f"what it was could not be kept ({type(problem).__name__})"
            return self.note("tool", [lost_change(path, why) for path in paths])
        except Exception:  # as above
            log.exception("Nor is it noted that it was changed")
            return nothing_noted

    def _writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        mode = _mode_now(path)
        if after is not None and mode is not None and stat.S_ISLNK(mode):
            mode = None  # `before` is what the link leads to
        left = NOTHING if after is None else FileState(sha256(after), kept_mode(mode))
        folders = [] if after is None else missing_folders(path)
        if before is None:
            return self.note("tool", [*folders, Change(path, NOTHING, left)])
        if after is None and path.is_symlink():
            before = look(path, self.versions.limits.max_file_bytes).content or b""  # the link goes, not the file
        was, lost = self.versions.keep(path, before, mode)
        change = Change(path, was, left, lost)
        take_back = self.note("tool", [*folders, change])
        self.make_sure(change, before)
        return take_back

    def _moving(self, source: Path, target: Path) -> TakeBack:
        found = look(source, self.versions.limits.max_file_bytes)
        if found.kind not in {"file", "link"}:
            return nothing_noted
        lost = f"it was too large to keep ({found.size:,} bytes)"
        if found.content is not None:
            _, lost = self.versions.keep(source, found.content, found.state.mode)
        # If the file could not come back at its old path, it must not go from the new one either: lost both.
        gone, come = Change(source, found.state, NOTHING, lost), Change(target, NOTHING, found.state, lost)
        take_back = self.note("tool", [*missing_folders(target), gone, come])
        self.make_sure(gone, found.content)
        return take_back

    def _watch(self, spec: CommandSpec) -> _Watched | None:
        limits = ObservationLimits(max_file_bytes=self.versions.limits.max_file_bytes)
        began, until = self.versions.clock(), time.monotonic() + limits.max_copy_seconds
        try:
            seen = Observation(spec, self.roots, limits, cache=self.cache, skipped=self.skipped)
            watched = _Watched(seen, began)
            if seen.is_read_only:
                return None
            self._keep_foreseen(watched, until)
        except Exception:  # a command runs whatever keeps its changes from being kept
            log.exception("What the command %r changes is not kept", spec.command[:200])
            return None
        return watched

    def _keep_foreseen(self, watched: _Watched, until: float) -> None:
        changes: list[Change] = []
        for file in watched.seen.foreseen:
            if file.content is not None and time.monotonic() > until:
                # It is held in memory, and kept once the command has ended.
                file = replace(file, content=None, lost=_POSTPONED)  # noqa: PLW2901 - the same file
            changes.append(self._change(file, FileState(UNKNOWN)))
        if not changes:
            return
        for change in changes:
            watched.folders |= {folder.path: folder for folder in missing_folders(change.path)}
        watched.begun = self._call()
        self.versions.note(self.session_id, NoteChanges(watched.begun, "command", changes))
        for file, change in zip(watched.seen.foreseen, changes, strict=True):
            self.make_sure(change, file.content)

    def _finish(self, watched: _Watched) -> None:
        try:
            differences = watched.seen.differences()
            new = [self._change(one.before, _left(one)) for one in differences]
            for each in watched.seen.folders:
                path = settled(each.path)
                watched.folders.setdefault(path, folder_changed(path, each.before, each.after))
            folders = (folder for path, folder in watched.folders.items() if folder.before.hash or path.is_dir())
            changes = [*folders, *new]
            foreseen = {settled(file.path) for file in watched.seen.foreseen}
            named = [change for change in changes if _is_named(change, foreseen)]
            others = [change for change in changes if not _is_named(change, foreseen)]
            end = EndCommand(self._call(), watched.begun, named, others, watched.began)
            if watched.begun is not None or changes:
                self.versions.note(self.session_id, end)
            for one, change in zip(differences, new, strict=True):
                self.make_sure(change, one.before.content)
            own = (one for one in differences if settled(one.path) not in end.foreign)
            watched.changed.extend(filter(None, map(_changed, own)))
        except Exception:  # the command's result counts
            log.exception("What a command has changed is not kept")

    def _change(self, file: FileBefore, after: FileState) -> Change:
        path = settled(file.path)
        if file.lost:
            return Change(path, FileState(UNKNOWN, kept_mode(file.mode)), after, file.lost)
        if file.content is None:
            return Change(path, NOTHING, after)
        was, lost = self.versions.keep(path, file.content, file.mode)
        return Change(path, was, after, lost)

    def make_sure(self, change: Change, content: bytes | None) -> None:
        """Keep what the change has replaced once more, should it be gone by now."""
        if content is not None and not change.lost:
            self.versions.make_sure(change.before.hash, content)

    def note(self, origin: Origin, changes: Sequence[Change]) -> TakeBack:
        """Store changes that are about to be made."""
        call = self._call()

        def take_back() -> None:
            self.versions.note(self.session_id, TakeBackChanges(call))

        self.versions.note(self.session_id, NoteChanges(call, origin, tuple(changes)))
        return take_back

    def _call(self) -> CallOfTurn:
        return CallOfTurn(self.turn_id, self.call_id, self.versions.moment())


@dataclass(slots=True)
class _Watched:
    """A command that runs: what was seen before it, when that was noted, directories that were not there or are
    others by its end, and in the end the files whose text is another.
    """

    seen: Observation
    began: float
    begun: CallOfTurn | None = None
    folders: dict[Path, Change] = field(default_factory=dict)
    changed: list[ChangedFile] = field(default_factory=list)

    def unread(self) -> list[Path]:
        """What the command would take and there was no time to read."""
        return [file.path for file in self.seen.foreseen if file.lost == self.seen.too_slow]


def _named(paths: Sequence[Path]) -> str:
    names = ", ".join(path.name for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more files" if len(paths) > _MOST_NAMED else ""
    return f"{names}{more}, as copying them takes too long"


def _is_named(change: Change, foreseen: AbstractSet[Path]) -> bool:
    return change.is_folder or any(path in foreseen for path in (change.path, *change.path.parents))


def _left(difference: FileDifference) -> FileState:
    if difference.after_hash == UNKNOWN and difference.path.is_dir() and not difference.path.is_symlink():
        return NOTHING  # no file any more
    return FileState(difference.after_hash, kept_mode(difference.after_mode))


def _changed(difference: FileDifference) -> ChangedFile | None:
    """The file, where its text is another now; None for a directory that is gone, a pipe and the like."""
    before = difference.before
    if difference.after_hash == UNKNOWN and not difference.path.is_file():
        return None
    if difference.after_hash is None and before.lost and before.mode is None:
        return None
    if before.content is not None and difference.after_hash == sha256(before.content):
        return None
    was_there = before.content is not None or bool(before.lost)
    return ChangedFile(difference.path, was_there, difference.after_hash is not None)


def _mode_now(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None


# A content is deleted within a transaction that has just seen that no row refers to it, and only if it was not used
# for an hour. Whoever keeps a content commits its row and then looks whether the content is still there. So one of
# the two sees the other, whatever the order.

_GRACE = 3600.0
_DAY = 86_400.0
_FILES_AT_ONCE = 100
_KEPT = "before_hash IS NOT NULL AND lost = ''"


class FileVersions:
    """Gives each tool call the history that it reports to. One for a process; safe for threads.

    Undo can bring back what was kept here and nothing else. Kept is every file right before an editing tool changes
    it; and for a command, what its text names before it runs, and what else of the session's directories it is found
    to have changed. What another program changes in them while a command runs looks like the command's change.

    Args:
        note: takes what is noted about changes, in order with all else that a session stores.
        limits: how much is kept.
    """

    def __init__(self, database: Database, blobs: BlobStore, note: Note, limits: VersionLimits | None = None) -> None:
        self.note = note
        self.blobs = blobs
        self.limits = limits or VersionLimits()
        self.clock = database.clock
        self._database = database
        self._lock = threading.Lock()
        self._last = 0.0
        self._caches: dict[str, ContentCache] = {}

    def for_call(self, session_id: str, turn_id: str, call_id: str, roots: tuple[Path, ...]) -> CallHistory:
        """The history of one tool call. It never raises.

        Args:
            roots: the session's directories.
        """
        with self._lock:
            cache = self._caches.setdefault(session_id, ContentCache())
        name = call_id.encode(errors="replace").decode()  # it comes from a model, and SQLite takes UTF-8 only
        return CallHistory(self, session_id, turn_id, name, roots, cache, self._skipped(roots))

    def moment(self) -> float:
        """Now, in seconds since the epoch; never the same twice."""
        with self._lock:
            self._last = max(self.clock(), self._last + _TICK)
            return self._last

    def keep(self, path: Path, content: bytes, mode: int | None) -> tuple[FileState, str]:
        """Keep what is at `path`: what it is, and why that could not be kept ('' if it was). Never raises."""
        most = self.limits.max_file_bytes
        if len(content) > most:
            lost = f"it was too large to keep ({len(content):,} bytes; up to {most:,} are kept)"
            return FileState(sha256(content), kept_mode(mode)), lost
        try:
            return FileState(self.blobs.put(content), kept_mode(mode)), ""
        except StoreError as problem:
            log.warning("What %s was is not kept: %s", shown_path(path), problem)
            return FileState(sha256(content), kept_mode(mode)), f"it could not be kept. {problem}"

    def make_sure(self, name: str | None, content: bytes) -> None:
        """Keep `content`, whose hash is `name`, again if it was dropped before its row was there. Never raises."""
        try:
            if name is None or not self.blobs.has(name):
                self.blobs.put(content)
        except StoreError as problem:
            log.warning("What a file was may not be kept: %s", problem)

    def forget(self, session_id: str) -> None:
        """Free the memory that helps to see a session's changes quickly."""
        with self._lock:
            self._caches.pop(session_id, None)

    def contents_of(self, session_id: str) -> tuple[str, ...]:
        """The hashes of the contents that a session keeps.

        Raises:
            StoreError: the database cannot be read.
        """
        return self._contents("session_id = ?", session_id)

    def contents_unused_since(self, before: float) -> tuple[str, ...]:
        """The hashes of the contents that sessions keep which were not used since `before` (seconds since the epoch).

        Raises:
            StoreError: the database cannot be read.
        """
        return self._contents("session_id IN (SELECT id FROM sessions WHERE updated_at < ?)", before)

    def drop(self, hashes: Sequence[str]) -> int:
        """Delete those contents that no session keeps any more; how many.

        Raises:
            StoreError: the database or the contents cannot be changed.
        """
        dropped = 0
        for start in range(0, len(hashes), _FILES_AT_ONCE):
            with self._database.write() as connection:
                for name in hashes[start : start + _FILES_AT_ONCE]:
                    query = "SELECT 1 FROM file_versions WHERE before_hash = ? AND lost = '' LIMIT 1"
                    if connection.execute(query, (name,)).fetchone() is None:
                        self.blobs.drop(name)
                        dropped += 1
        return dropped

    def prune(self) -> int:
        """Drop contents beyond the limits, of the oldest turns first, and those that nothing refers to any more.

        Returns:
            How many contents were deleted.

        Raises:
            StoreError: the database or the contents cannot be read or changed.
        """
        database, blobs, limits, now = self._database, self.blobs, self.limits, self._database.clock()
        try:
            files = {file.hash: file for file in blobs.files()}
            with database.write() as connection:
                connection.execute(
                    f"UPDATE file_versions SET lost = ? WHERE {_KEPT} AND created_at < ?",  # noqa: S608 - a constant
                    (PRUNED, now - limits.max_age_days * _DAY),
                )
                _mark_oldest(connection, files, limits.max_total_bytes)
            blobs.drop_leftovers(now - _GRACE)
            used = set(self._contents("true"))
            return self.drop(
                [name for name, file in files.items() if file.used_at < now - _GRACE and name not in used]
            )
        except OSError as problem:
            raise StoreError(
                f"Earlier versions of files could not be cleaned up in {blobs.root}: {problem.strerror or problem}."
            ) from problem

    def _contents(self, where: str, *values: object) -> tuple[str, ...]:
        with self._database.read() as connection:
            query = f"SELECT DISTINCT before_hash FROM file_versions WHERE {_KEPT} AND {where}"  # noqa: S608 - constants
            return tuple(row[0] for row in connection.execute(query, values))

    def _skipped(self, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        home = self._database.path.parent
        # A session may work on the home's own files (settings, skills): then only what is the store's is left out.
        inside = any(root == home or home in root.parents for root in roots)
        blobs = self.blobs.root
        return (blobs, *files_of(self._database.path)) if inside else (home, blobs)


def _mark_oldest(connection: sqlite3.Connection, files: Mapping[str, BlobFile], max_bytes: int) -> None:
    """Mark the rows of the oldest turns, as many as must lose their content so that the rest fits."""
    turns: dict[tuple[str, int], list[str]] = {}
    query = f"SELECT session_id, turn, before_hash FROM file_versions WHERE {_KEPT} ORDER BY id"  # noqa: S608 - a constant
    for session_id, turn, name in connection.execute(query):
        turns.setdefault((session_id, turn), []).append(name)
    users = Counter(name for names in turns.values() for name in names)
    total = sum(files[name].size for name in users if name in files)
    for which, names in turns.items():
        if total <= max_bytes:
            return
        mark = f"UPDATE file_versions SET lost = ? WHERE {_KEPT} AND session_id = ? AND turn = ?"  # noqa: S608 - a constant
        connection.execute(mark, (PRUNED, *which))
        users.subtract(names)
        total -= sum(files[name].size for name in set(names) if not users[name] and name in files)
