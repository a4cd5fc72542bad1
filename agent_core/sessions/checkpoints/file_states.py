"""What is and was at a path, told so that it can be compared, and the rows about changes of files."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote_to_bytes

from tools.environments.atomic_writes import Spot
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK

# Paths as text that SQLite can hold: names on disk are bytes, and need not be UTF-8.
# A path that is UTF-8 stands as it is. Any other is written as `bytes:` and its bytes in percent notation; as paths
# are absolute, nothing else begins like that. A path has one form only, so that equal texts are equal paths.

_AS_BYTES = "bytes:"


def stored_path(path: Path) -> str:
    """The text for an absolute path."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _AS_BYTES + quote(os.fsencode(text))
    return text


def path_from(stored: str) -> Path:
    """The path that `stored_path` gave a text for."""
    if stored.startswith(_AS_BYTES):
        return Path(os.fsdecode(unquote_to_bytes(stored.removeprefix(_AS_BYTES))))
    return Path(stored)


def settled(path: Path) -> Path:
    """`path` with the links in its directories resolved, and its last part as it is: it may be a link itself."""
    return Path(os.path.realpath(path.parent)) / path.name


def shown_path(path: Path) -> str:
    """`path` for a person: one line, bytes that are no text as question marks."""
    return os.fsencode(path).decode(errors="replace").replace("\n", "\\n")


# What is at a path now, told so that it can be compared with what was there earlier.

LINK_MODE = stat.S_IFLNK
"""The mode that stands for a symbolic link; its content is the text that it points to."""
UNKNOWN = "?"
"""Stands in a hash's place where what a change has left is not known."""

Kind = Literal["nothing", "file", "link", "directory", "blocked", "other"]
"""`blocked`: one of the path's directories is a file. `other`: a device, a pipe, or something that cannot be read."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file, or that there is none.

    Attributes:
        hash: SHA-256 of the content in hexadecimal digits; None where nothing is; `UNKNOWN`.
        mode: permission bits, or `LINK_MODE`; None where nothing is, or where it is not known.
    """

    hash: str | None
    mode: int | None = None

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == LINK_MODE

    def is_same(self, other: FileState) -> bool:
        """Same content and mode. A mode that is not known is like any, but for a link's."""
        if self.hash != other.hash or self.hash == UNKNOWN or self.is_link != other.is_link:
            return False
        return self.mode == other.mode or self.mode is None or other.mode is None


NOTHING = FileState(None)


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a path now.

    Attributes:
        size: of the content, in bytes.
        content: None where there is none, or where it is larger than was asked for.
        facts: of a file or link itself, not of what it points to.
        problem: for `other`, why it cannot be compared.
    """

    kind: Kind
    state: FileState = NOTHING
    size: int = 0
    content: bytes | None = None
    facts: os.stat_result | None = None
    problem: str = ""


def look(path: Path, max_bytes: int) -> Found:
    """What is at `path`; a link at its end is not followed.

    Args:
        max_bytes: content larger than that is hashed, and not kept in memory.
    """
    return _look(str(path), None, max_bytes)


def look_at(spot: Spot, max_bytes: int) -> Found:
    """As `look`, in a directory that is held open."""
    return _look(spot.name, spot.folder, max_bytes)


def _look(name: str, folder: int | None, max_bytes: int) -> Found:
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=folder))
            return Found("link", FileState(sha256(target), LINK_MODE), len(target), target, facts)
        if stat.S_ISDIR(facts.st_mode):
            return Found("directory", facts=facts)
        if not stat.S_ISREG(facts.st_mode):
            return Found("other", facts=facts, problem="it is a device, a pipe or a socket")
        return _look_into(name, folder, max_bytes)
    except FileNotFoundError:
        return Found("nothing")
    except NotADirectoryError:
        return Found("blocked")
    except OSError as problem:
        return Found("other", problem=f"it cannot be read: {problem.strerror or problem}")


def sha256(content: bytes) -> str:
    """The hash that contents are compared by."""
    return hashlib.sha256(content).hexdigest()


def kept_mode(mode: int | None) -> int | None:
    """The mode as it is kept, from a mode with or without the bits that tell a file's type."""
    if mode is None:
        return None
    return LINK_MODE if stat.S_ISLNK(mode) else stat.S_IMODE(mode)


def _look_into(name: str, folder: int | None, max_bytes: int) -> Found:
    # O_NONBLOCK: what was a file a moment ago may be a pipe by now.
    descriptor = os.open(name, os.O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return Found("other", facts=facts, problem="it changes while it is looked at")
        mode = stat.S_IMODE(facts.st_mode)
        if facts.st_size > max_bytes:
            return Found("file", FileState(_hash_of(stream), mode), facts.st_size, None, facts)
        content = stream.read()
    return Found("file", FileState(sha256(content), mode), len(content), content, facts)


def _hash_of(stream: BufferedReader) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()


# Rows about what files were: one for each change of a file.
# `lost` tells why the content before a change cannot be brought back; its hash may be known all the same. A row
# counts as a reference to a blob while it is not lost.

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


def missing_folders(path: Path) -> list[Change]:
    """The directories that must be made before `path` can be, outermost first."""
    missing: list[Path] = []
    for folder in path.parents:
        if folder.exists():
            break
        missing.append(folder)
    return [folder_made(folder) for folder in reversed(missing)]


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


def add_changes(connection: sqlite3.Connection, cause: Cause, changes: Sequence[Change], now: float) -> None:
    """Insert a row for each change."""
    by = (cause.session_id, cause.turn, cause.call_id, cause.origin, cause.rewind_id, now)
    connection.executemany(
        "INSERT INTO file_versions (session_id, turn, call_id, origin, rewind_id, created_at, path, before_hash,"
        " before_mode, after_hash, after_mode, lost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (*by, stored_path(one.path), one.before.hash, one.before.mode, one.after.hash, one.after.mode, one.lost)
            for one in changes
        ],
    )


def noted_rows(
    connection: sqlite3.Connection, session_id: str, turn: int, call_id: str, at: float
) -> dict[Path, int]:
    """The ids of the rows that a call has added at that time, by their paths."""
    rows = connection.execute(
        "SELECT path, id FROM file_versions WHERE session_id = ? AND turn = ? AND call_id = ? AND created_at = ?",
        (session_id, turn, call_id, at),
    )
    return {path_from(path): row_id for path, row_id in rows}


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


_COLUMNS = "path, before_hash, before_mode, after_hash, after_mode, lost, origin"
_OF_TURN = (
    f"SELECT {_COLUMNS} FROM file_versions WHERE session_id = ? AND turn = ?"  # noqa: S608 - constants
    " AND origin IN ('tool', 'command', 'found') ORDER BY id"
)
_BEFORE_FORK = (
    f"SELECT {_COLUMNS} FROM sessions JOIN turns ON turns.session_id = sessions.id JOIN file_versions"  # noqa: S608
    " ON file_versions.session_id = turns.session_id AND file_versions.turn = turns.number"
    " WHERE root_id = (SELECT root_id FROM sessions WHERE id = ?1) AND sessions.id != ?1 AND turns.id = ?2"
    " AND origin IN ('tool', 'command', 'found') ORDER BY file_versions.id"
)
_OF_REWIND = (
    f"SELECT {_COLUMNS} FROM file_versions WHERE session_id = ? AND rewind_id = ?"  # noqa: S608 - constants
    " AND origin = 'rewind' ORDER BY id"
)


def changes_of_turns(connection: sqlite3.Connection, session_id: str, turns: Sequence[int]) -> list[Change]:
    """What tools and commands changed in those turns, in order."""
    rows = (row for turn in sorted(turns) for row in connection.execute(_OF_TURN, (session_id, turn)))
    return [_change(row) for row in rows]


def changes_before_fork(connection: sqlite3.Connection, session_id: str, turn_ids: Sequence[str]) -> list[Change]:
    """What those turns changed while they were still another session's, in order."""
    rows = (row for turn_id in turn_ids for row in connection.execute(_BEFORE_FORK, (session_id, turn_id)))
    return [_change(row) for row in rows]


def changes_of_rewind(connection: sqlite3.Connection, session_id: str, rewind_id: int) -> list[Change]:
    """What an undo changed, in order."""
    return [_change(row) for row in connection.execute(_OF_REWIND, (session_id, rewind_id))]


def _change(row: Sequence[Any]) -> Change:
    path, before_hash, before_mode, after_hash, after_mode, lost, origin = row
    before, after = FileState(before_hash, before_mode), FileState(after_hash, after_mode)
    return Change(path_from(path), before, after, lost, origin in {"command", "found"}, origin == "found")
