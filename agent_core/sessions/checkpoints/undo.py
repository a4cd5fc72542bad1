"""Takes turns of a session back, with the files that they changed, and brings them again."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import stat
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from agent_core.errors import HermesError, RequestError, StoreError, UnknownSession
from agent_core.messages import said_in, text_of
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.file_states import (
    NO_CONTENT,
    NOTHING,
    Cause,
    Change,
    FileState,
    Found,
    Origin,
    add_changes,
    changes_before_fork,
    changes_of_rewind,
    changes_of_turns,
)
from agent_core.sessions.checkpoints.restore import LOCAL_DISK, Disk
from agent_core.sessions.checkpoints.undo_plan import (
    Action,
    FileOutcome,
    FileStep,
    FolderTrail,
    RewindPlan,
    RewindReport,
    RewoundTurn,
    Verdict,
    folders_of,
    judge,
    not_taken_back,
    steps_of,
    trails_of,
)
from agent_core.sessions.database import Database, unpack
from agent_core.sessions.records import COMPACTED, RESET, TurnRecord
from agent_core.sessions.rows import IN_HISTORY, TURN_COLUMNS, said_first, turn_from
from tools.errors import FileAccessError, FileChanged
from tools.light_dataclass import dataclass

__all__ = ["FileOutcome", "FileStep", "RewindPlan", "RewindReport", "Rewinder"]


# Turns, their messages, and the rows of rewinds.
# A turn's `undone` is 0 while it is in view. Of a turn that was taken back it is one more than the number of messages
# that had been withdrawn from it: those are its first ones, so a redo can tell them from the others again.
# A rewind's `undone` is 0 while it is in effect, 1 after a redo has taken it back, and 2 until all of it was done.

_IN_EFFECT, _TAKEN_BACK, _UNFINISHED = 0, 1, 2
_PROMPT_CHARS = 200
_TYPED: dict[str | None, str] = {RESET: "/reset", COMPACTED: "/compact"}
_AMONG = "IN (SELECT value FROM json_each(?))"
_TURN = f"SELECT {TURN_COLUMNS} FROM turns"  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True)
class Rewind:
    """A stored undo of the turns `first` … `last` that were in view then."""

    id: int
    first: int
    last: int


def turns_to_undo(connection: sqlite3.Connection, session_id: str, count: int) -> list[TurnRecord]:
    """The last `count` turns in view, or all there are, newest first; commands do not count.

    Raises:
        UnknownSession: there is no such session.
    """
    if connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise UnknownSession(session_id)
    rows = connection.execute(
        f"{_TURN} WHERE session_id = ? AND undone = 0 AND outcome IS NOT 'command' ORDER BY number DESC LIMIT ?",
        (session_id, count),
    )
    return [turn_from(row) for row in rows]


def rewind_to_redo(connection: sqlite3.Connection, session_id: str) -> Rewind:
    """The undo that a redo would take back now.

    Raises:
        UnknownSession: there is no such session. RequestError: there is none, or a turn has begun since.
    """
    newest = turns_to_undo(connection, session_id, 1)
    row = connection.execute(
        "SELECT id, first_turn, last_turn FROM rewinds WHERE session_id = ? AND undone = ? ORDER BY id DESC LIMIT 1",
        (session_id, _IN_EFFECT),
    ).fetchone()
    if row is None:
        raise RequestError("There is nothing to redo: nothing of this session was taken back.")
    found = Rewind(*row)
    if newest and newest[0].number > found.last:
        raise RequestError(
            "There is nothing to redo: the conversation has gone on since the last undo, so the turns that were "
            "taken back do not fit any more."
        )
    return found


def turns_of_rewind(connection: sqlite3.Connection, session_id: str, rewind: Rewind) -> list[TurnRecord]:
    """The turns that a rewind in effect took back, newest first."""
    # Turns in its range that were not in view then had been taken back by an earlier one, which still is in effect.
    rows = connection.execute(
        f"{_TURN} WHERE session_id = ? AND undone != 0 AND number BETWEEN ? AND ? AND NOT EXISTS ("  # noqa: S608
        "SELECT 1 FROM rewinds WHERE session_id = turns.session_id AND undone = ? AND id < ?"
        " AND turns.number BETWEEN first_turn AND last_turn) ORDER BY number DESC",
        (session_id, rewind.first, rewind.last, _IN_EFFECT, rewind.id),
    )
    return [turn_from(row) for row in rows]


def with_prompts(
    connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord]
) -> tuple[RewoundTurn, ...]:
    """The turns with their prompts' first lines."""
    prompts: dict[int, str] = {}
    rows = connection.execute(
        f"SELECT turn, body FROM messages WHERE session_id = ? AND role = 'user' AND turn {_AMONG} ORDER BY id",  # noqa: S608
        (session_id, _numbers(turns)),
    )
    for number, body in rows:
        if number not in prompts and (line := _first_line(body)) is not None:
            prompts[number] = line
    for turn in turns:
        if turn.number not in prompts:  # the model was not told of it: a command, or what broke off at once
            said = text_of(said_first(connection, session_id, turn.number))
            prompts[turn.number] = _TYPED.get(turn.outcome) or _line_of(said)
    return tuple(RewoundTurn(turn, prompts[turn.number]) for turn in turns)


def begin_rewind(connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord], now: float) -> int:
    """Insert a rewind that is not finished, or go on with one of the same turns that was broken off; its id."""
    first, last = turns[-1].number, turns[0].number
    row = connection.execute(
        "SELECT id, first_turn, last_turn, undone FROM rewinds WHERE session_id = ? ORDER BY id DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    if row is not None and tuple(row[1:]) == (first, last, _UNFINISHED):
        return int(row[0])
    cursor = connection.execute(
        "INSERT INTO rewinds (session_id, first_turn, last_turn, undone, created_at) VALUES (?, ?, ?, ?, ?)",
        (session_id, first, last, _UNFINISHED, now),
    )
    return cursor.lastrowid or 0


def finish_undo(
    connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord], rewind_id: int, now: float
) -> None:
    """Take the turns and their messages out of view."""
    numbers = _numbers(turns)
    connection.execute(
        "UPDATE turns SET undone = 1 + (SELECT count(*) FROM messages WHERE session_id = turns.session_id AND turn ="  # noqa: S608
        f" turns.number AND hidden = 'withdrawn') WHERE session_id = ? AND undone = 0 AND number {_AMONG}",
        (session_id, numbers),
    )
    connection.execute(
        f"UPDATE messages SET hidden = 'undone' WHERE session_id = ? AND turn {_AMONG}",  # noqa: S608
        (session_id, numbers),
    )
    _settle(connection, session_id, rewind_id, _IN_EFFECT, now)


def finish_redo(
    connection: sqlite3.Connection, session_id: str, turns: Sequence[TurnRecord], rewind_id: int, now: float
) -> None:
    """Bring the turns and their messages back into view; what was withdrawn stays withdrawn."""
    numbers = _numbers(turns)
    connection.execute(
        "WITH numbered AS (SELECT messages.id AS id, row_number() OVER (PARTITION BY messages.turn ORDER BY"  # noqa: S608
        " messages.id) AS place, turns.undone - 1 AS withdrawn FROM messages JOIN turns ON turns.session_id ="
        " messages.session_id AND turns.number = messages.turn WHERE messages.session_id = ? AND messages.turn"
        f" {_AMONG}) UPDATE messages SET hidden = CASE WHEN numbered.place <= numbered.withdrawn THEN 'withdrawn'"
        " ELSE '' END FROM numbered WHERE messages.id = numbered.id",
        (session_id, numbers),
    )
    connection.execute(
        f"UPDATE turns SET undone = 0 WHERE session_id = ? AND number {_AMONG}",  # noqa: S608
        (session_id, numbers),
    )
    _settle(connection, session_id, rewind_id, _TAKEN_BACK, now)


def messages_in_history(connection: sqlite3.Connection, session_id: str) -> int:
    """How many messages the model's history has."""
    query = f"SELECT count(*) FROM messages WHERE {IN_HISTORY}"  # noqa: S608 - a constant
    return int(connection.execute(query, (session_id,)).fetchone()[0])


def _settle(connection: sqlite3.Connection, session_id: str, rewind_id: int, state: int, now: float) -> None:
    connection.execute("UPDATE rewinds SET undone = ? WHERE id = ?", (state, rewind_id))
    connection.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (now, session_id))


def _numbers(turns: Sequence[TurnRecord]) -> str:
    return json.dumps([turn.number for turn in turns])


def _first_line(body: str | bytes) -> str | None:
    """The first line of a message that the person wrote; None for another's."""
    try:
        message = unpack(body)
        if message.get("injected"):
            return None
        text = text_of(said_in(message))
    except (StoreError, AttributeError, KeyError, TypeError):
        return ""  # a damaged message must not keep a person from taking it back
    return _line_of(text)


def _line_of(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _PROMPT_CHARS else line[: _PROMPT_CHARS - 1] + "…"


# Carries a rewind out.
# The order is such that a kill at any moment loses nothing:
# 1. A row of the rewind is inserted, marked as unfinished. It hides nothing yet.
# 2. Each file is looked at again. What is there now goes into the blobs, and a row that names it is committed; then
#    the file is replaced, whole or not at all, if it still is what was looked at. So whatever is overwritten or
#    deleted was kept before. A kill between row and file leaves the file as it was, and a row that says no more.
# 3. One transaction takes the turns and their messages out of view, and marks the rewind as finished. Until then the
#    session is as it was before the undo, with some files back already.
# An undo that broke off is finished by undoing again: files that are back are found so and left alone, the others are
# brought back, and as the unfinished rewind is gone on with, a redo later knows what every one of them was before the
# first attempt. Its rows are told from those of later redos by their origin, so a redo that broke off can be repeated
# as well. If the person goes on with the conversation instead, the unfinished rewind never had an effect.
# A file that fails keeps no other from being brought back. What is lost is told, and left as it is.

_TRIES = 3


@dataclass(slots=True)
class _Run:
    """One rewind, carried out once. The attributes are those of `Rewinder` and its `apply`."""

    database: Database
    blobs: BlobStore
    plan: RewindPlan
    overwrite: Callable[[FileStep], bool]
    max_bytes: int
    disk: Disk = LOCAL_DISK
    _rewind_id: int = 0
    _outcomes: defaultdict[str, list[FileOutcome]] = field(default_factory=lambda: defaultdict(list))

    def run(self) -> RewindReport:
        """Bring the files back, then the conversation."""
        self._begin()
        missing = {trail.path for trail in self.plan.folders if not trail.path.is_dir()}
        for trail in self.plan.folders:
            if not trail.is_made and trail.path not in missing and (trail.wanted.mode or 0) & stat.S_IWUSR:
                self._bring_folder(trail, missing)  # before the files that may have to be made in it
        for step in self.plan.steps:
            self._carry_out(step)
        for trail in reversed(self.plan.folders):
            if trail.is_made:
                self._remove_empty(trail.path)
        for trail in self.plan.folders:
            if not trail.is_made:
                self._bring_folder(trail, missing)
        outcomes: dict[str, Any] = {name: tuple(found) for name, found in self._outcomes.items()}
        report = replace(RewindReport(self.plan.kind, self.plan.numbers), **outcomes)
        try:
            return replace(report, messages_left=self._finish())
        except HermesError as problem:
            return replace(report, trouble=f"The conversation is not rewound, but the files are: {problem}")

    def _begin(self) -> None:
        now = self.database.clock()
        with self.database.write() as connection:
            require_current(connection, self.plan)
            if self.plan.rewind_id is not None:
                self._rewind_id = self.plan.rewind_id
                return
            turns = [turn.record for turn in self.plan.turns]
            self._rewind_id = begin_rewind(connection, self.plan.session_id, turns, now)

    def _finish(self) -> int:
        finish = finish_undo if self.plan.kind == "undo" else finish_redo
        turns = [turn.record for turn in self.plan.turns]
        with self.database.write() as connection:
            require_current(connection, self.plan)
            finish(connection, self.plan.session_id, turns, self._rewind_id, self.database.clock())
            return messages_in_history(connection, self.plan.session_id)

    def _carry_out(self, step: FileStep) -> None:
        approved: FileState | None = None
        for _ in range(_TRIES):
            found = self.disk.look(step.path, self.max_bytes)
            verdict = judge(step.trail, found)
            if verdict.state == "already":
                self._add("already", step.path, "nothing")
                return
            if verdict.state == "lost":
                self._add("failed", step.path, "nothing", verdict.reason)
                return
            if verdict.state in {"conflict", "found"} and found.state != approved:
                if not self.overwrite(_as_found(step, found, verdict)):
                    self._add("kept", step.path, verdict.action, verdict.reason)
                    return
                approved = found.state
                continue  # the person may have taken a while to answer
            try:
                remark = self._change(step, found, verdict.action)
            except FileChanged:
                continue
            except (StoreError, FileAccessError, OSError) as problem:
                self._add("failed", step.path, verdict.action, _told(problem))
                return
            self._add("done", step.path, verdict.action, remark)
            return
        self._add("failed", step.path, step.action, "something else keeps changing it; try again")

    def _add(self, outcome: str, path: Path, action: Action, reason: str = "") -> None:
        self._outcomes[outcome].append(FileOutcome(path, action, reason))

    def _remove_empty(self, folder: Path) -> None:
        now = self.disk.folder(folder)
        # There may be something in it, or it is gone.
        with contextlib.suppress(StoreError, OSError):
            if now.hash is not None and not any(folder.iterdir()):
                self._note([Change(folder, now, NOTHING, NO_CONTENT)])
            folder.rmdir()

    def _bring_folder(self, trail: FolderTrail, missing: AbstractSet[Path]) -> None:
        """Make a directory again, or give it the permissions that it had. `missing`: those not there at first."""
        path, wanted = trail.path, trail.wanted
        try:
            now = self.disk.folder(path)
            if now == wanted or any(each.path == path for name in ("done", "kept") for each in self._outcomes[name]):
                return
            if now.hash is not None and path not in missing and now != trail.left:
                self._add("kept", path, "chmod", "someone else has changed its permissions since")
                return
            self._note([*self.disk.missing_folders(path), Change(path, now, wanted, NO_CONTENT)])
            self.disk.place_folder(path, wanted)
        except (StoreError, FileAccessError, OSError) as problem:
            self._add("failed", path, "nothing", _told(problem))
            return
        if now.hash is None or path not in missing:
            self._add("done", path, "create" if now.hash is None else "chmod")

    def _change(self, step: FileStep, found: Found, action: Action) -> str:
        wanted = step.trail.wanted
        if wanted.mode is None and wanted.hash is not None and not found.state.is_link:
            wanted = replace(wanted, mode=found.state.mode)
        content = self.blobs.get(wanted.hash or "") if action in {"restore", "create"} else None
        lost = self._keep_now(step.path, found, wanted)
        self.disk.place(step.path, found, wanted, content)
        return f"what was there is not kept: {lost}" if lost else ""

    def _keep_now(self, path: Path, found: Found, wanted: FileState) -> str:
        """Keep what is there now, before it is overwritten; why it could not be, if the person wants it gone."""
        lost = "" if found.content is not None or found.state.hash is None else f"too large ({found.size:,} bytes)"
        if found.content is not None:
            self.blobs.put(found.content)
        folders = [] if wanted.hash is None else self.disk.missing_folders(path)
        self._note([*folders, Change(path, found.state, wanted, lost)])
        if found.content is not None and not self.blobs.has(found.state.hash or ""):
            self.blobs.put(found.content)
        return lost

    def _note(self, changes: Sequence[Change]) -> None:
        origin: Origin = "rewind" if self.plan.kind == "undo" else "redo"
        cause = Cause(self.plan.session_id, self.plan.numbers[0], "", origin, self._rewind_id)
        with self.database.write() as connection:
            add_changes(connection, cause, changes, self.database.clock())


def require_current(connection: Connection, plan: RewindPlan) -> None:
    """Make sure that the session still is as the plan was made for.

    Raises:
        RequestError: it is not.
    """
    if plan.rewind_id is not None:
        is_current = rewind_to_redo(connection, plan.session_id).id == plan.rewind_id
    else:
        turns = turns_to_undo(connection, plan.session_id, len(plan.turns))
        is_current = tuple(turn.number for turn in turns) == plan.numbers
    if not is_current:
        raise RequestError(
            "The conversation has changed since the preview was made. Look at a new one and try again."
        )


def _as_found(step: FileStep, found: Found, verdict: Verdict) -> FileStep:
    size = None if found.state.hash is None else found.size
    if (step.state, step.action, step.size_now) == (verdict.state, verdict.action, size):
        return replace(step, reason=verdict.reason)
    # It is not what the preview showed.
    return replace(step, action=verdict.action, state=verdict.state, reason=verdict.reason, size_now=size, preview="")


def _told(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return f"it could not be changed: {problem.strerror or problem}"
    return str(problem)


_MOST_BYTES = 50_000_000


class Rewinder:
    """Plans and carries out rewinds. Blocking; the caller sees to it that no turn of the session runs meanwhile, and
    that this process holds the session's lease.

    After `apply`, whoever holds messages of the session in memory reads them again; positions in the history that it
    keeps are void beyond `RewindReport.messages_left`.

    Args:
        max_file_bytes: a larger file is not kept before it is overwritten or deleted, so that it is asked about.
        disk: whose files.
    """

    def __init__(
        self, database: Database, blobs: BlobStore, max_file_bytes: int = _MOST_BYTES, disk: Disk = LOCAL_DISK
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._max_bytes = max_file_bytes
        self._disk = disk

    def on(self, disk: Disk) -> Rewinder:
        """The same for a session whose files are those of `disk`."""
        return Rewinder(self._database, self._blobs, self._max_bytes, disk)

    def plan(self, session_id: str, turns: int = 1) -> RewindPlan:
        """What taking back the last `turns` turns in view (all, where there are fewer) would do. Changes nothing.

        Raises:
            UnknownSession: there is no such session. RequestError: there is nothing to take back.
            StoreError: the database cannot be read.
        """
        if turns < 1:
            raise RequestError(f"{turns} turns cannot be taken back: name 1 or more.")
        with self._database.read() as connection:
            records = turns_to_undo(connection, session_id, turns)
            if not records:
                raise RequestError("There is nothing to undo: no turn of this session is in view.")
            shown = with_prompts(connection, session_id, records)
            changes = changes_of_turns(connection, session_id, [record.number for record in records])
            earlier = changes_before_fork(connection, session_id, [record.id for record in reversed(records)])
        steps = steps_of(trails_of(changes), self._blobs, self._max_bytes, self._disk)
        left = not_taken_back(earlier, self._disk)
        return RewindPlan(session_id, "undo", shown, (*steps, *left), folders_of(changes))

    def plan_redo(self, session_id: str) -> RewindPlan:
        """What taking back the last undo would do. Changes nothing.

        Raises:
            UnknownSession: there is no such session.
            RequestError: there is nothing to redo, or a turn has begun since.
            StoreError: the database cannot be read.
        """
        with self._database.read() as connection:
            rewind = rewind_to_redo(connection, session_id)
            shown = with_prompts(connection, session_id, turns_of_rewind(connection, session_id, rewind))
            changes = changes_of_rewind(connection, session_id, rewind.id)
        steps = steps_of(trails_of(changes), self._blobs, self._max_bytes, self._disk)
        return RewindPlan(session_id, "redo", shown, steps, folders_of(changes), rewind.id)

    def contents(self, step: FileStep) -> tuple[bytes | None, bytes | None]:
        """What the file holds now and what it is to hold, for a question; None where there is none.

        Raises:
            StoreError: what it was cannot be read.
        """
        wanted = step.trail.wanted.hash
        return self._disk.look(step.path, self._max_bytes).content, None if wanted is None else self._blobs.get(
            wanted
        )

    def apply(self, plan: RewindPlan, overwrite: Callable[[FileStep], bool]) -> RewindReport:
        """Carry a plan out. Each file is looked at again: what counts is what it is now, not what the plan says.

        Args:
            overwrite: asked, in this thread, for each file that someone else has changed since, or may have changed
                while a command ran (`step.state` and `step.reason` tell); True to change it all the same. What it
                raises breaks the rewind off: repeat it to finish it.

        Raises:
            RequestError: the session is not what it was when the plan was made; nothing was changed.
            StoreError: the database cannot be written; nothing was changed.
        """
        return _Run(self._database, self._blobs, plan, overwrite, self._max_bytes, self._disk).run()
