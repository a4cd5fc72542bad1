"""Rows about what files were: one for each change of a file.

`lost` tells why the content before a change cannot be brought back; its hash may be known all the same. A row counts
as a reference to a blob while it is not lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from agent_core.sessions.files.looking import NOTHING, UNKNOWN, FileState
from agent_core.sessions.files.paths import path_from, stored_path
from tools.light_dataclass import dataclass

Origin = Literal["tool", "command", "found", "rewind", "redo"]
"""Who changed a file: an editing tool; a command that names it; whoever did while a command ran that does not; the
person's undo; their redo."""

PRUNED = "pruned"
"""The `lost` of rows whose content was dropped to save space."""
NO_CONTENT = "it is a directory"
"""The `lost` of rows about directories: there is no content to keep."""
FOLDER = "/"
"""Stands in a hash's place for a directory: one that was made on the way to a file has no mode in its row."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one file.

    Attributes:
        by_command: it happened around a command, as read back from a row.
        is_found: the command does not name the file: someone else may have changed it.
    """

    path: Path
    before: FileState
    after: FileState
    lost: str = ""
    by_command: bool = False
    is_found: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether it tells of a directory that was made, removed or given other permissions."""
        return FOLDER in {self.before.hash, self.after.hash}


@dataclass(frozen=True, slots=True)
class Cause:
    """Whose change it was. `rewind_id` is that of an undo, or of the undo that a redo takes back."""

    session_id: str
    turn: int
    call_id: str
    origin: Origin
    rewind_id: int | None = None


def folder_made(path: Path) -> Change:
    """The change that stands for a directory that is made on the way to a file."""
    return Change(path, NOTHING, FileState(FOLDER))


def folder_changed(path: Path, before: int | None, after: int | None) -> Change:
    """The change of a directory's permissions; None: it was not there, or is not there any more."""
    was, now = (NOTHING if mode is None else FileState(FOLDER, mode) for mode in (before, after))
    return folder_made(path) if before is None else Change(path, was, now, NO_CONTENT)


def turn_number(connection: sqlite3.Connection, session_id: str, turn_id: str) -> int | None:
    """The number of a turn; None where it is not stored."""
    row = connection.execute(
        "SELECT number FROM turns WHERE session_id = ? AND id = ? ORDER BY number DESC LIMIT 1", (session_id, turn_id)
    ).fetchone()
    return None if row is None else int(row[0])


def add_changes(connection: sqlite3.Connection, cause: Cause, changes: Sequence[Change], now: float) -> list[int]:
    """Insert a row for each change; their ids, in order."""
    ids: list[int] = []
    for change in changes:
        cursor = connection.execute(
            "INSERT INTO file_versions (session_id, turn, call_id, path, origin, before_hash, before_mode,"
            " after_hash, after_mode, lost, rewind_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                cause.session_id,
                cause.turn,
                cause.call_id,
                stored_path(change.path),
                cause.origin,
                change.before.hash,
                change.before.mode,
                change.after.hash,
                change.after.mode,
                change.lost,
                cause.rewind_id,
                now,
            ),
        )
        ids.append(cursor.lastrowid or 0)
    return ids


def noted_rows(
    connection: sqlite3.Connection, session_id: str, turn: int, call_id: str, at: float
) -> dict[Path, int]:
    """The ids of the rows that a call has added at that time, by their paths."""
    rows = connection.execute(
        "SELECT path, id FROM file_versions WHERE session_id = ? AND turn = ? AND call_id = ? AND created_at = ?",
        (session_id, turn, call_id, at),
    )
    return {path_from(path): row_id for path, row_id in rows}


def complete_change(connection: sqlite3.Connection, row_id: int, after: FileState) -> None:
    """Tell what the change of that row has left."""
    connection.execute(
        "UPDATE file_versions SET after_hash = ?, after_mode = ? WHERE id = ? AND after_hash = ?",
        (after.hash, after.mode, row_id, UNKNOWN),
    )


def remove_changes(connection: sqlite3.Connection, row_ids: Sequence[int]) -> None:
    """Take rows back: nothing was changed after all."""
    connection.executemany("DELETE FROM file_versions WHERE id = ?", [(row_id,) for row_id in row_ids])


def told_elsewhere(
    connection: sqlite3.Connection, session_id: str, changes: Sequence[Change], since: float
) -> set[Path]:
    """The paths of `changes` that another session's tool, undo or redo has left as they are, since that time."""
    rows = connection.execute(
        "SELECT path, after_hash FROM file_versions WHERE session_id != ? AND origin NOT IN ('command', 'found')"
        " AND id > coalesce((SELECT id FROM file_versions WHERE created_at < ? ORDER BY id DESC LIMIT 1), 0)",
        (session_id, since),
    )
    told = {(path_from(path), after) for path, after in rows}
    return {change.path for change in changes if (change.path, change.after.hash) in told}


def changes_of_turns(connection: sqlite3.Connection, session_id: str, turns: Sequence[int]) -> list[Change]:
    """What tools and commands changed in those turns, in order."""
    found: list[Change] = []
    for turn in sorted(turns):
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM file_versions WHERE session_id = ? AND turn = ?"  # noqa: S608 - constant
            " AND origin IN ('tool', 'command', 'found') ORDER BY id",
            (session_id, turn),
        )
        found += map(_change, rows)
    return found


def changes_before_fork(connection: sqlite3.Connection, session_id: str, turn_ids: Sequence[str]) -> list[Change]:
    """What those turns changed while they were still another session's, in order."""
    found: list[Change] = []
    for turn_id in turn_ids:
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM sessions JOIN turns ON turns.session_id = sessions.id JOIN file_versions"  # noqa: S608
            " ON file_versions.session_id = turns.session_id AND file_versions.turn = turns.number"
            " WHERE root_id = (SELECT root_id FROM sessions WHERE id = ?1) AND sessions.id != ?1 AND turns.id = ?2"
            " AND origin IN ('tool', 'command', 'found') ORDER BY file_versions.id",
            (session_id, turn_id),
        )
        found += map(_change, rows)
    return found


def changes_of_rewind(connection: sqlite3.Connection, session_id: str, rewind_id: int) -> list[Change]:
    """What an undo changed, in order."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM file_versions WHERE session_id = ? AND rewind_id = ?"  # noqa: S608 - constant
        " AND origin = 'rewind' ORDER BY id",
        (session_id, rewind_id),
    )
    return [_change(row) for row in rows]


_COLUMNS = "path, before_hash, before_mode, after_hash, after_mode, lost, origin"


def _change(row: Sequence[object]) -> Change:
    path, before_hash, before_mode, after_hash, after_mode, lost, origin = row
    return Change(
        path_from(str(path)),
        FileState(_text(before_hash), _number(before_mode)),
        FileState(_text(after_hash), _number(after_mode)),
        str(lost),
        origin in {"command", "found"},
        origin == "found",
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
