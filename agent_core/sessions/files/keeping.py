"""Keeps contents, and what is noted about them in the queue of their session, without ever holding up or failing the
change that they are about.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from pathlib import Path
from typing import ClassVar, Protocol

from agent_core.errors import StoreError
from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.looking import UNKNOWN, FileState, kept_mode, sha256
from agent_core.sessions.files.paths import shown_path
from agent_core.sessions.files.version_rows import (
    Cause,
    Change,
    Origin,
    add_changes,
    complete_change,
    noted_rows,
    remove_changes,
    told_elsewhere,
    turn_number,
)
from agent_core.sessions.live.operations import Operation
from agent_core.sessions.live.turn_rows import close_turn, insert_turn
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_BYTES_A_CHANGE = 512
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


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file is, and why that could not be kept ('' if it was)."""

    state: FileState
    lost: str = ""


class Queue(Protocol):
    """Where what a session stores waits in order."""

    def note(self, session_id: str, operation: Operation) -> None:
        """Store it after what waits already, now or as soon as that works. Never raises for the database's sake."""
        ...


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

    @property
    def size(self) -> int:
        """That of its rows."""
        return _BYTES_A_CHANGE * (1 + len(self.changes))

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
    """What a command has changed, where `NoteChanges` of `begun` has told what it might.

    Attributes:
        begun: None where nothing was foreseen.
        left: what it has left at the paths that it did change.
        again: foreseen paths of which more is known by now: they are among the further changes.
        named, found: further changes, of files that it names and of others.
        since: when it began, in seconds since the epoch.
        foreign: of `found` and `named`, what another session has changed; known once it is stored.
        was_tried: as in `NoteChanges`.
    """

    call: CallOfTurn
    begun: CallOfTurn | None
    left: Mapping[Path, FileState]
    again: AbstractSet[Path]
    named: Sequence[Change]
    found: Sequence[Change]
    since: float
    foreign: AbstractSet[Path] = field(default_factory=frozenset)
    was_tried: bool = False
    needs_lease: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """That of its rows."""
        return _BYTES_A_CHANGE * (1 + len(self.left) + len(self.named) + len(self.found))

    def apply(self, connection: sqlite3.Connection, session_id: str) -> None:
        """Complete the foreseen rows, remove those of what it left alone, and add the others."""
        number = number_for(connection, session_id, self.call)
        if (begun := self.begun) is not None:
            rows = noted_rows(connection, session_id, number, begun.call_id, begun.at)
            for path in self.left.keys() & rows.keys():
                complete_change(connection, rows[path], self.left[path])
            void = [row for path, row in rows.items() if path not in self.left or path in self.again]
            remove_changes(connection, void)
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


class Keeper:
    """What all calls of a process share; safe for threads."""

    def __init__(self, queue: Queue, blobs: BlobStore, limits: VersionLimits, clock: Callable[[], float]) -> None:
        self.queue = queue
        self.blobs = blobs
        self.limits = limits
        self.clock = clock
        self._lock = threading.Lock()
        self._last = 0.0

    def moment(self) -> float:
        """Now, in seconds since the epoch; never the same twice."""
        with self._lock:
            self._last = max(self.clock(), self._last + _TICK)
            return self._last

    def keep(self, path: Path, content: bytes, mode: int | None) -> Kept:
        """Keep what is at `path`. Never raises."""
        most = self.limits.max_file_bytes
        if len(content) > most:
            lost = f"it was too large to keep ({len(content):,} bytes; up to {most:,} are kept)"
            return Kept(FileState(sha256(content), kept_mode(mode)), lost)
        try:
            return Kept(FileState(self.blobs.put(content), kept_mode(mode)))
        except StoreError as problem:
            log.warning("What %s was is not kept: %s", shown_path(path), problem)
            return Kept(FileState(sha256(content), kept_mode(mode)), f"it could not be kept. {problem}")

    def make_sure(self, name: str | None, content: bytes) -> None:
        """Keep `content`, whose hash is `name`, again if it was dropped before its row was there. Never raises."""
        try:
            if name is None or not self.blobs.has(name):
                self.blobs.put(content)
        except StoreError as problem:
            log.warning("What a file was may not be kept: %s", problem)


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
