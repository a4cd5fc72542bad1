"""Carries a rewind out.

The order is such that a kill at any moment loses nothing:

1. A row of the rewind is inserted, marked as unfinished. It hides nothing yet.
2. Each file is looked at again. What is there now goes into the blobs, and a row that names it is committed; then the
   file is replaced, whole or not at all, if it still is what was looked at. So whatever is overwritten or deleted was
   kept before. A kill between row and file leaves the file as it was, and a row that says no more than that.
3. One transaction takes the turns and their messages out of view, and marks the rewind as finished. Until then the
   session is as it was before the undo, with some files back already.

An undo that broke off is finished by undoing again: files that are back are found so and left alone, the others are
brought back, and as the unfinished rewind is gone on with, a redo later knows what every one of them was before the
first attempt. Its rows are told from those of later redos by their origin, so a redo that broke off can be repeated
as well. If the person goes on with the conversation instead, the unfinished rewind never had an effect.

A file that fails keeps no other from being brought back. What is lost is told, and left as it is.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from pathlib import Path
from sqlite3 import Connection

from agent_core.errors import HermesError, RequestError, StoreError
from agent_core.sessions.database.database import Database
from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.disk import LOCAL_DISK, Disk
from agent_core.sessions.files.looking import NOTHING, FileState, Found
from agent_core.sessions.files.version_rows import NO_CONTENT, Cause, Change, Origin, add_changes, folder_made
from agent_core.sessions.rewind.plan import Verdict, judge
from agent_core.sessions.rewind.records import Action, FileOutcome, FileStep, FolderTrail, RewindPlan, RewindReport
from agent_core.sessions.rewind.rows import (
    begin_rewind,
    finish_redo,
    finish_undo,
    messages_in_history,
    rewind_to_redo,
    turns_to_undo,
)
from tools.errors import FileAccessError, FileChanged
from tools.light_dataclass import dataclass

_TRIES = 3


@dataclass(slots=True)
class RewindRun:
    """One rewind, carried out once.

    Attributes:
        overwrite: asked for each file that someone else has changed; True to go on with it.
        max_bytes: a larger file is not kept before it is overwritten, which is asked about.
        disk: whose files.
    """

    database: Database
    blobs: BlobStore
    plan: RewindPlan
    overwrite: Callable[[FileStep], bool]
    max_bytes: int
    disk: Disk = LOCAL_DISK
    _rewind_id: int = 0
    _done: list[FileOutcome] = field(default_factory=list)
    _already: list[FileOutcome] = field(default_factory=list)
    _kept: list[FileOutcome] = field(default_factory=list)
    _failed: list[FileOutcome] = field(default_factory=list)

    def run(self) -> RewindReport:
        """Bring the files back, then the conversation.

        Raises:
            RequestError: the session is not what it was when the plan was made; nothing was changed.
            StoreError: the database cannot be written; nothing was changed.
        """
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
        report = RewindReport(
            self.plan.kind,
            self.plan.numbers,
            tuple(self._done),
            tuple(self._already),
            tuple(self._kept),
            tuple(self._failed),
        )
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
                self._already.append(FileOutcome(step.path, "nothing"))
                return
            if verdict.state == "lost":
                self._failed.append(FileOutcome(step.path, "nothing", verdict.reason))
                return
            if verdict.state in {"conflict", "found"} and found.state != approved:
                if not self.overwrite(_as_found(step, found, verdict)):
                    self._kept.append(FileOutcome(step.path, verdict.action, verdict.reason))
                    return
                approved = found.state
                continue  # the person may have taken a while to answer
            try:
                remark = self._change(step, found, verdict.action)
            except FileChanged:
                continue
            except (StoreError, FileAccessError, OSError) as problem:
                self._failed.append(FileOutcome(step.path, verdict.action, _told(problem)))
                return
            self._done.append(FileOutcome(step.path, verdict.action, remark))
            return
        self._failed.append(FileOutcome(step.path, step.action, "something else keeps changing it; try again"))

    def _remove_empty(self, folder: Path) -> None:
        now = self.disk.folder(folder)
        # There may be something in it, or it is gone.
        with contextlib.suppress(StoreError, OSError):
            if now.hash is not None and not any(folder.iterdir()):
                self._note([Change(folder, now, NOTHING, NO_CONTENT)])
            folder.rmdir()

    def _bring_folder(self, trail: FolderTrail, missing: AbstractSet[Path]) -> None:
        """Make a directory again, or give it the permissions that it had.

        Args:
            missing: those that were not there when this began.
        """
        path, wanted = trail.path, trail.wanted
        try:
            now = self.disk.folder(path)
            if now == wanted or any(each.path == path for each in (*self._done, *self._kept)):
                return
            if now.hash is not None and path not in missing and now != trail.left:
                self._kept.append(FileOutcome(path, "chmod", "someone else has changed its permissions since"))
                return
            self._note([*map(folder_made, self.disk.missing_folders(path)), Change(path, now, wanted, NO_CONTENT)])
            self.disk.place_folder(path, wanted)
        except (StoreError, FileAccessError, OSError) as problem:
            self._failed.append(FileOutcome(path, "nothing", _told(problem)))
            return
        if now.hash is None or path not in missing:
            self._done.append(FileOutcome(path, "create" if now.hash is None else "chmod"))

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
        changes = (
            [folder_made(folder) for folder in self.disk.missing_folders(path)] if wanted.hash is not None else []
        )
        changes.append(Change(path, found.state, wanted, lost))
        self._note(changes)
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
