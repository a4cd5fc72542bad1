"""Files on this machine's disk. No policy here: `tools.environments.gated` stands in front."""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from tools.context import FileStat, Interrupt
from tools.environments import ripgrep
from tools.environments.file_errors import told_as_file_error
from tools.environments.replacing import create_file, move_file, replace_file
from tools.errors import FileChanged, FileMissing, FileRefused
from tools.files.searching import SearchQuery, SearchResult
from tools.settings import SearchSettings

# Their files are made up by the kernel: some never end, some hold the environment's keys.
_PSEUDO = frozenset({("/", "proc"), ("/", "sys"), ("/", "dev")})


@dataclass(frozen=True, slots=True)
class LocalFileSystem:
    """Implements `tools.context.FileSystem` on disk.

    Paths come with symbolic links resolved, as the gate hands them on: a link at the end of a path is refused, so
    that a link put there after the approval leads nowhere.

    Attributes:
        limits: of searches.
        interrupt: ends a running search.
        private: directories whose files searches do not show.
    """

    limits: SearchSettings = field(default_factory=SearchSettings)
    interrupt: Interrupt | None = None
    private: tuple[Path, ...] = ()

    def stat(self, path: Path) -> FileStat | None:
        """Facts of the path, None when nothing is there."""
        try:
            with told_as_file_error("look at", path):
                try:
                    facts = path.stat()
                except NotADirectoryError:
                    return None
        except FileMissing:
            return None
        return FileStat(_kind(facts), facts.st_size, facts.st_mtime_ns, modes.S_IMODE(facts.st_mode))

    def open(self, path: Path) -> BinaryIO:
        """Open a regular file for reading; never waits for one that is a pipe or a device."""
        return _open_regular(path, os.O_NOFOLLOW)

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`: there is no other text than the disk's."""
        return self.open(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, whole or not at all; what is in the file now is `data`."""
        if expected is None:
            if os.path.lexists(path):
                raise FileChanged(f"{path} already exists; nothing was written. Read it first.")
            with told_as_file_error("create", path):
                create_file(path, data)
            return data
        with _open_regular(path, os.O_NOFOLLOW) as stream:
            facts = os.fstat(stream.fileno())
            _compare(path, stream, facts, expected)
        with told_as_file_error("write", path):
            replace_file(path, data, expected, facts)
        return data

    def remarks(self) -> tuple[str, ...]:
        """None: what was written was written here."""
        return ()

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        if _is_pseudo(path):
            raise FileRefused(f"Could not list {path}: what is below /proc, /sys and /dev is not looked at.")
        with told_as_file_error("list", path):
            return sorted(entry.name for entry in path.iterdir())

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file, or a link to a file, whose content is `expected`."""
        with _open_regular(path) as stream:
            _compare(path, stream, os.fstat(stream.fileno()), expected)
        with told_as_file_error("delete", path):
            path.unlink()

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is; the target's parents are created."""
        if not os.path.lexists(source):
            raise FileMissing(f"Could not move {source}: there is nothing at that path.")
        if source.is_symlink() and source.parent != target.parent and not source.readlink().is_absolute():
            raise FileRefused(
                f"Could not move {source}: it is a symbolic link to {source.readlink()}, which leads "
                f"elsewhere from {target.parent}. Use the terminal."
            )
        with told_as_file_error(f"move {source} to", target):
            target.parent.mkdir(parents=True, exist_ok=True)
            move_file(source, target)

    def search(self, query: SearchQuery) -> SearchResult:
        """Search names or content below a path with ripgrep, or what takes its place."""
        facts = self.stat(query.path)
        if facts is None:
            raise FileMissing(f"Could not search {query.path}: there is nothing at that path.")
        if facts.kind == "other" or _is_pseudo(query.path):
            raise FileRefused(f"Could not search {query.path}: it is neither a directory nor a regular file.")
        return ripgrep.search(query, self.limits, self.interrupt, self.private)


def _open_regular(path: Path, flags: int = 0) -> BinaryIO:
    if _is_pseudo(path):
        raise FileRefused(f"Could not read {path}: files below /proc, /sys and /dev are not read as text.")
    with told_as_file_error("read", path):
        # O_NONBLOCK: opening a pipe that nobody writes to must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    facts = os.fstat(descriptor)
    if not modes.S_ISREG(facts.st_mode):
        os.close(descriptor)
        kind = "a directory" if modes.S_ISDIR(facts.st_mode) else "a device, pipe or socket"
        raise FileRefused(f"Could not read {path}: it is {kind}, not a regular file.")
    return os.fdopen(descriptor, "rb")


def _compare(path: Path, stream: BinaryIO, facts: os.stat_result, expected: bytes) -> None:
    with told_as_file_error("read", path):
        same = facts.st_size == len(expected) and stream.read() == expected
    if not same:
        raise FileChanged(f"{path} has changed since it was read; nothing was written. Read it again.")


def _is_pseudo(path: Path) -> bool:
    return path.parts[:2] in _PSEUDO


def _kind(facts: os.stat_result) -> Literal["file", "directory", "other"]:
    if modes.S_ISREG(facts.st_mode):
        return "file"
    return "directory" if modes.S_ISDIR(facts.st_mode) else "other"
