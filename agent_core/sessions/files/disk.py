"""Whose files an undo looks at and changes: this machine's, or those of the one that the session works on.

A file of another machine is stored as `/@MACHINE/PATH`, so that it is never taken for one of this machine's.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent_core.sessions.files.looking import NOTHING, FileState, Found, look, sha256
from agent_core.sessions.files.paths import missing_folders
from agent_core.sessions.files.placing import place, place_folder
from agent_core.sessions.files.version_rows import FOLDER
from tools.errors import FileAccessError, ToolError
from tools.ports import missing_root

if TYPE_CHECKING:
    from tools.ports import FileSystem

_MARK = "@"


class Disk(Protocol):
    """Looks at files and brings them to a state."""

    def look(self, path: Path, max_bytes: int) -> Found:
        """What is at a path, as `looking.look`."""
        ...

    def place(self, path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
        """Bring a path to a state, as `placing.place`."""
        ...

    def missing_folders(self, path: Path) -> list[Path]:
        """The directories that must be made before `path` can be, outermost first, where these are taken back too."""
        ...

    def folder(self, path: Path) -> FileState:
        """A directory with its permissions; `NOTHING` where there is none."""
        ...

    def place_folder(self, path: Path, wanted: FileState) -> None:
        """Make a directory if there is none, and give it these permissions.

        Raises:
            FileAccessError, OSError.
        """
        ...


class LocalDisk:
    """This machine's.

    Args:
        roots: the session's directories: nothing below one that is not there any more is made again.
    """

    def __init__(self, roots: tuple[Path, ...] = ()) -> None:
        self._roots = roots

    def look(self, path: Path, max_bytes: int) -> Found:
        """What is there."""
        if (where := machine_of(path)) and not path.exists():
            return Found("other", problem=f"it is on {where}, where the session does not work now")
        if (root := missing_root(path, self._roots)) is not None:
            return Found("other", problem=f"the session's directory {root} is not there any more: moved or deleted")
        return look(path, max_bytes)

    def place(self, path: Path, seen: Found, wanted: FileState, content: bytes | None) -> None:
        """Bring it to a state."""
        place(path, seen, wanted, content)

    def missing_folders(self, path: Path) -> list[Path]:
        """Those that are made with it."""
        return missing_folders(path)

    def folder(self, path: Path) -> FileState:
        """The directory."""
        try:
            mode = path.lstat().st_mode
        except OSError:
            return NOTHING
        return FileState(FOLDER, stat.S_IMODE(mode)) if stat.S_ISDIR(mode) else NOTHING

    def place_folder(self, path: Path, wanted: FileState) -> None:
        """Make it, or give it these permissions."""
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

    def missing_folders(self, path: Path) -> list[Path]:  # noqa: ARG002 - as the port has it
        """None: directories there stay."""
        return []

    def folder(self, path: Path) -> FileState:  # noqa: ARG002 - as the port has it
        """Nobody looks at directories there."""
        return NOTHING

    def place_folder(self, path: Path, wanted: FileState) -> None:  # noqa: ARG002
        """Directories there stay as they are.

        Raises:
            OSError: always.
        """
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(path))


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
