"""Takes turns of a session back, with the files that they changed, and brings them again."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.errors import RequestError
from agent_core.sessions.database.database import Database
from agent_core.sessions.files.blobs import BlobStore
from agent_core.sessions.files.disk import LOCAL_DISK, Disk
from agent_core.sessions.files.version_rows import changes_before_fork, changes_of_rewind, changes_of_turns
from agent_core.sessions.rewind.apply import RewindRun
from agent_core.sessions.rewind.plan import folders_of, not_taken_back, steps_of, trails_of
from agent_core.sessions.rewind.records import FileOutcome, FileStep, RewindPlan, RewindReport
from agent_core.sessions.rewind.rows import rewind_to_redo, turns_of_rewind, turns_to_undo, with_prompts

__all__ = ["FileOutcome", "FileStep", "RewindPlan", "RewindReport", "Rewinder"]

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
        return RewindRun(self._database, self._blobs, plan, overwrite, self._max_bytes, self._disk).run()
