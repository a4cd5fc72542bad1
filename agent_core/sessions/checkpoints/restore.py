"""Brings paths back to earlier states, on this machine and on others; half-written files of killed processes go."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.sessions.checkpoints.file_states import (
    FOLDER,
    NOTHING,
    Change,
    FileState,
    Found,
    look,
    look_at,
    missing_folders,
    path_from,
    sha256,
    shown_path,
)
from agent_core.sessions.checkpoints.versions import CallHistory
from agent_core.sessions.database import Database
from tools.environments.atomic_writes import Spot, create_at, holding, move_at, replace_at, told_as_file_error
from tools.errors import FileAccessError, FileChanged, ToolError
from tools.os_compat import O_DIRECTORY, O_NONBLOCK, set_mode
from tools.ports import CommandSpec, FileSystem, TakeBack, missing_root

if TYPE_CHECKING:
    from tools.result import ChangedFile


# Brings a path to a state, if it still is what was seen there, whole or not at all.
# The path's directory is held open for all of it: a link that takes its place meanwhile leads nowhere.

_PERMISSION_BITS = 0o7777


def place(path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
    """Put `wanted` where `seen` is. Links are replaced, never followed; missing directories are made.

    Args:
        seen: what `look` found.
        content: of `wanted`: a file's bytes, a link's target; None where nothing is wanted, or only another mode.

    Raises:
        FileChanged: something else is at the path by now. FileAccessError: a link has come into its directories, or
            it failed half-way. OSError.
    """
    with ExitStack() as held:
        with told_as_file_error("bring back", path):
            spot = held.enter_context(holding(path, make=content is not None))
        _place_at(spot, seen, wanted, content)


def place_folder(path: Path, mode: int | None) -> None:
    """Make a directory if there is none, and give it these permissions.

    Raises:
        FileAccessError: a link has come into its directories. OSError.
    """
    with ExitStack() as held:
        with told_as_file_error("bring back", path):
            spot = held.enter_context(holding(path, make=True))
        with suppress(FileExistsError):
            os.mkdir(spot.name, dir_fd=spot.folder)
        descriptor = spot.open(os.O_RDONLY | O_DIRECTORY | O_NONBLOCK)
        try:
            if mode is not None:
                set_mode(descriptor, mode)
        finally:
            os.close(descriptor)


def _place_at(spot: Spot, seen: Found, wanted: FileState, content: bytes | None) -> None:
    now = look_at(spot, 0)
    if (now.kind, now.state) != (seen.kind, seen.state):
        raise _changed(spot)
    if wanted.hash is None:
        os.unlink(spot.name, dir_fd=spot.folder)
    elif content is None:
        _change_mode(spot, now, wanted.mode if wanted.mode is not None else now.state.mode or 0o600)
    elif seen.kind in {"file", "link"}:
        _replace(spot, seen, wanted, content)
    else:
        _create(spot, wanted, content)


def _change_mode(spot: Spot, now: Found, mode: int) -> None:
    # The call that takes a name would follow a link that has just come there.
    descriptor = spot.open(os.O_RDONLY | O_NONBLOCK)
    try:
        if now.facts is None or not os.path.samestat(os.fstat(descriptor), now.facts):
            raise _changed(spot)
        set_mode(descriptor, mode)
    finally:
        os.close(descriptor)


def _replace(spot: Spot, seen: Found, wanted: FileState, content: bytes) -> None:
    if seen.kind == "file" and not wanted.is_link and seen.content is not None and seen.facts is not None:
        replace_at(spot, content, seen.content, _facts(seen.facts, wanted.mode))
        return
    temporary = _temporary(spot, wanted, content)
    try:
        os.replace(temporary.name, spot.name, src_dir_fd=spot.folder, dst_dir_fd=spot.folder)
    finally:
        temporary.unlink()


def _create(spot: Spot, wanted: FileState, content: bytes) -> None:
    if look_at(spot, 0).kind == "directory":
        _remove_empty(spot)
    if wanted.mode is None:
        create_at(spot, content)
        return
    temporary = _temporary(spot, wanted, content)
    try:
        move_at(temporary, spot)
    finally:
        temporary.unlink()


def _temporary(spot: Spot, wanted: FileState, content: bytes) -> Spot:
    temporary = spot.beside(f".hermes-{secrets.token_hex(6)}.tmp")
    if wanted.is_link:
        os.symlink(os.fsdecode(content), temporary.name, dir_fd=spot.folder)
        return temporary
    descriptor = temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            set_mode(descriptor, 0o600 if wanted.mode is None else wanted.mode)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _facts(facts: os.stat_result, mode: int | None) -> os.stat_result:
    """The facts with another mode: the owner stays."""
    wanted = facts.st_mode if mode is None else (facts.st_mode & ~_PERMISSION_BITS) | mode
    return os.stat_result((wanted, *tuple(facts)[1:10]))


def _remove_empty(folder: Spot) -> None:
    """Remove a tree of directories without files; an OSError tells of one that has any."""
    for _, names, _, descriptor in os.fwalk(folder.name, topdown=False, dir_fd=folder.folder):
        for name in names:
            os.rmdir(name, dir_fd=descriptor)
    os.rmdir(folder.name, dir_fd=folder.folder)


def _changed(spot: Spot) -> FileChanged:
    return FileChanged(f"{spot.path} has changed while it was looked at; nothing was written.")


# Whose files an undo looks at and changes: this machine's, or those of the one that the session works on.
# A file of another machine is stored as `/@MACHINE/PATH`, so that it is never taken for one of this machine's.

_MARK = "@"


class LocalDisk:
    """Looks at files of this machine, and brings them to a state.

    Args:
        roots: the session's directories: nothing below one that is not there any more is made again.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots

    def look(self, path: Path, max_bytes: int) -> Found:
        """What is there, as `file_states.look`."""
        if (where := machine_of(path)) and not path.exists():
            return Found("other", problem=f"it is on {where}, where the session does not work now")
        if (root := missing_root(path, self._roots)) is not None:
            return Found("other", problem=f"the session's directory {root} is not there any more: moved or deleted")
        return look(path, max_bytes)

    def place(self, path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
        """Bring it to a state, as the function `place`."""
        place(path, seen, wanted, content)

    def missing_folders(self, path: Path) -> list[Change]:
        """The directories that are made on the way to it."""
        return missing_folders(path)

    def folder(self, path: Path) -> FileState:
        """A directory with its permissions; `NOTHING` where there is none."""
        try:
            mode = path.lstat().st_mode
        except OSError:
            return NOTHING
        return FileState(FOLDER, stat.S_IMODE(mode)) if stat.S_ISDIR(mode) else NOTHING

    def place_folder(self, path: Path, wanted: FileState) -> None:
        """Make a directory if there is none, and give it these permissions. Raises FileAccessError, OSError."""
        if (root := missing_root(path, self._roots)) is not None:
            raise FileAccessError(f"the session's directory {root} is not there any more: moved or deleted")
        place_folder(path, wanted.mode)


LOCAL_DISK = LocalDisk()


class FarDisk:
    """That of the machine which the session works on.

    Args:
        where: the machine's name.
        files: its files; raises ToolError where it cannot be reached.
    """

    def __init__(self, where: str, files: Callable[[], FileSystem]) -> None:
        self._where = where
        self._files = files

    def look(self, path: Path, max_bytes: int) -> Found:
        """What is there; links are not told from what they lead to."""
        there = path_there(self._where, path)
        if there is None:
            return Found("other", problem=f"it is not on {self._where}, where the session works now")
        try:
            facts = self._files().stat(there)
            if facts is None:
                return Found("nothing")
            if facts.kind == "directory":
                return Found("directory")
            if facts.kind != "file" or facts.size > max_bytes:
                return Found("other", problem="it is no file that can be compared")
            with self._files().open(there) as stream:
                content = stream.read()
        except ToolError as problem:
            return Found("other", problem=f"it cannot be read: {problem}")
        return Found("file", FileState(sha256(content), facts.mode), len(content), content)

    def place(self, path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
        """Bring it to a state; the directories that a file needs are made.

        Raises:
            FileChanged: something else is there by now. FileAccessError, OSError.
        """
        there = path_there(self._where, path)
        if there is None or wanted.is_link:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(path))
        try:
            files = self._files()
            if wanted.hash is None:
                files.remove(there, expected=seen.content or b"")
            elif content is not None:
                files.write(there, content, expected=seen.content if seen.kind == "file" else None)
            if wanted.hash is not None and wanted.mode is not None:
                _set_mode(files, there, wanted.mode)
        except FileAccessError:
            raise
        except ToolError as problem:
            raise FileAccessError(str(problem)) from problem

    def missing_folders(self, path: Path) -> list[Change]:  # noqa: ARG002 - as on this machine
        """None: directories there stay."""
        return []

    def folder(self, path: Path) -> FileState:  # noqa: ARG002 - as on this machine
        """Nobody looks at directories there."""
        return NOTHING

    def place_folder(self, path: Path, wanted: FileState) -> None:  # noqa: ARG002
        """Directories there stay as they are.

        Raises:
            OSError: always.
        """
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(path))


Disk = LocalDisk | FarDisk
"""Where a session's files are."""


def stored_far(where: str, path: Path) -> Path:
    """The path that a file of another machine is stored under."""
    return Path("/", f"{_MARK}{where.replace('/', '_')}", *path.parts[1:])


def path_there(where: str, path: Path) -> Path | None:
    """The path that a stored one has on that machine; None where it is of none, or of another one."""
    return Path("/", *path.parts[2:]) if machine_of(path) == where.replace("/", "_") else None


def machine_of(path: Path) -> str:
    """The machine that a stored path is of; '' for this one."""
    first = path.parts[1] if len(path.parts) > 1 else ""
    return first.removeprefix(_MARK) if first.startswith(_MARK) else ""


def _set_mode(files: FileSystem, path: Path, mode: int) -> None:
    change = getattr(files, "change_mode", None)
    if change is not None:
        change(path, mode)


# What one tool call changes on another machine, kept before it is changed.
# What commands change there is not looked for: that would be a look at all of its directories each time.


class FarHistory:
    """Implements `tools.ports.FileHistory`.

    Args:
        rows: where it is noted; a call's own.
        where: the machine's name.
        files: its files.
    """

    def __init__(self, rows: CallHistory, where: str, files: Callable[[], FileSystem]) -> None:
        self._rows = rows
        self._where = where
        self._files = files

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        """Keep `before`, and note what `path` will hold."""
        try:
            return self._note(path, before, after)
        except Exception as problem:  # noqa: BLE001 - an edit goes on whatever keeps its past from being kept
            return self._rows.give_up(problem, stored_far(self._where, path))

    def moving(self, source: Path, target: Path) -> TakeBack:
        """Keep the file `source`, and note both ends of its way."""
        try:
            with self._files().open(source) as stream:
                content = stream.read()
            gone, come = self._note(source, content, None), self._note(target, None, content)
        except Exception as problem:  # noqa: BLE001 - as above
            return self._rows.give_up(problem, *(stored_far(self._where, path) for path in (source, target)))

        def take_back() -> None:
            gone()
            come()

        return take_back

    @contextmanager
    def command(
        self,
        spec: CommandSpec,  # noqa: ARG002 - as the port has it
        unkept: Callable[[str], object] = lambda _: None,  # noqa: ARG002
    ) -> Iterator[Sequence[ChangedFile]]:
        """Nothing is looked at."""
        yield ()

    def _note(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        stored = stored_far(self._where, path)
        facts = self._files().stat(path) if before is not None else None
        mode = None if facts is None else facts.mode
        left = NOTHING if after is None else FileState(sha256(after), mode)
        if before is None:
            return self._rows.note("tool", [Change(stored, NOTHING, left)])
        was, lost = self._rows.versions.keep(stored, before, mode)
        change = Change(stored, was, left, lost)
        take_back = self._rows.note("tool", [change])
        self._rows.make_sure(change, before)
        return take_back


# Files that a process was writing when it was killed, or had no more time to end, beside the one that it would have
# replaced. The directory is known: what a file was is noted before it is changed.

log = logging.getLogger(__name__)

_NAME = re.compile(r"\.hermes-[0-9a-f]{12}\.tmp")
_LOOKED_BACK = 7 * 86_400.0
_MOST = 2_000
# A turn that was given up has ended, but its worker may have gone on as long as the process.
# An undo has no end of its own in these rows: those of all are looked at.
_CHANGED = """
SELECT path FROM file_versions WHERE created_at > ? AND (rewind_id IS NOT NULL OR EXISTS (SELECT 1 FROM turns
    WHERE turns.session_id = file_versions.session_id AND number = turn AND (ended_at IS NULL OR outcome = '')))
GROUP BY path ORDER BY max(id) DESC LIMIT ?
"""


def drop_half_written(database: Database, before: float) -> int:
    """Remove them where turns that did not end or were given up, and undos, have changed files in a week; how many.

    Args:
        before: seconds since the epoch; a file that was touched since may be a living process's.

    Raises:
        StoreError: the database cannot be read.
    """
    with database.read() as connection:
        rows = connection.execute(_CHANGED, (database.clock() - _LOOKED_BACK, _MOST)).fetchall()
    dropped = 0
    for folder in {path_from(path).parent for (path,) in rows}:
        # A directory may be gone, or another's by now: what cannot be looked at is left.
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(folder) if _NAME.fullmatch(name)]  # noqa: PTH208 - names are wanted
            dropped += sum(_drop(folder / name, before) for name in names)
    return dropped


def _drop(path: Path, before: float) -> bool:
    with holding(path) as spot:
        facts = spot.facts()
        if facts is None or facts.st_mtime >= before:
            return False
        spot.unlink()
    log.info("%s, which a killed process was writing, is removed", shown_path(path))
    return True
