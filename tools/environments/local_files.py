"""Files on this machine's disk. No policy here: `gated_ports` stands in front."""

from __future__ import annotations

import errno
import os
import stat as modes
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, Literal

from tools.environments.atomic_writes import (
    Spot,
    create_at,
    holding,
    move_at,
    open_resolved,
    replace_at,
    told_as_file_error,
)
from tools.environments.search import search
from tools.errors import FileChanged, FileMissing, FileRefused
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_DIRECTORY, O_NOCTTY, O_NONBLOCK
from tools.ports import FileStat, Interrupt, SearchQuery, SearchResult
from tools.settings import SearchSettings

# Their files are made up by the kernel: some never end, some hold the environment's keys.
_PSEUDO = frozenset({"proc", "sys", "dev"})
# Opening a pipe that nobody writes to must not wait for a writer.
_READ = os.O_RDONLY | O_NONBLOCK | O_NOCTTY


@dataclass(frozen=True, slots=True)
class LocalFileSystem:
    """Implements `tools.ports.FileSystem` on disk.

    Paths come with symbolic links resolved, as the gate hands them on. A link in one is refused, wherever in it: one
    that is put there after the approval leads nowhere. Only `remove` and `rename` take a link at the end, for itself.

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
                facts = _look_at(path)
        except FileMissing:
            return None
        if facts is None:
            return None
        return FileStat(_kind(facts), facts.st_size, facts.st_mtime_ns, modes.S_IMODE(facts.st_mode))

    def open(self, path: Path) -> BinaryIO:
        """Open a regular file for reading; never waits for one that is a pipe or a device."""
        _refuse_pseudo(path)
        with told_as_file_error("read", path):
            descriptor = open_resolved(path, _READ)
        return _regular(path, descriptor)

    def open_saved(self, path: Path) -> BinaryIO:
        """As `open`: there is no other text than the disk's."""
        return self.open(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`, whole or not at all; what is in the file now is `data`."""
        if expected is None:
            with told_as_file_error("create", path), holding(path, make=True) as spot:
                if spot.facts() is not None:
                    raise FileChanged(f"{path} already exists; nothing was written. Read it first.")
                create_at(spot, data)
            return data
        _refuse_pseudo(path)
        with told_as_file_error("write", path), holding(path) as spot:
            with _regular(path, spot.open(_READ)) as stream:
                facts = os.fstat(stream.fileno())
                _compare(path, stream, facts, expected)
            replace_at(spot, data, expected, facts)
        return data

    def remarks(self) -> tuple[str, ...]:
        """None: what was written was written here."""
        return ()

    def list(self, path: Path) -> Sequence[str]:
        """Names in a directory, sorted."""
        if is_pseudo(path):
            raise FileRefused(f"Could not list {path}: what is below /proc, /sys and /dev is not looked at.")
        with told_as_file_error("list", path):
            descriptor = open_resolved(path, os.O_RDONLY | O_DIRECTORY | O_NONBLOCK)
            try:
                return sorted(os.listdir(descriptor))  # noqa: PTH208 - by descriptor
            finally:
                os.close(descriptor)

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file, or a link to a file, whose content is `expected`."""
        _refuse_pseudo(path)
        with told_as_file_error("delete", path), holding(path) as spot:
            # A link is compared by what it leads to, and deleted itself.
            descriptor = os.open(spot.name, _READ | O_CLOEXEC, dir_fd=spot.folder)
            with _regular(path, descriptor) as stream:
                _compare(path, stream, os.fstat(descriptor), expected)
            os.unlink(spot.name, dir_fd=spot.folder)

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is; the target's parents are created."""
        with told_as_file_error("move", source), holding(source) as here:
            _check_movable(here, target)
            with told_as_file_error(f"move {source} to", target), holding(target, make=True) as there:
                move_at(here, there)

    def search(self, query: SearchQuery) -> SearchResult:
        """Search names or content below a path with ripgrep, or with find and grep."""
        facts = self.stat(query.path)
        if facts is None:
            raise FileMissing(f"Could not search {query.path}: there is nothing at that path.")
        if facts.kind == "other" or is_pseudo(query.path):
            raise FileRefused(f"Could not search {query.path}: it is neither a directory nor a regular file.")
        return search(query, self.limits, self.interrupt, self.private)


def _look_at(path: Path) -> os.stat_result | None:
    try:
        with holding(path) as spot:
            facts = spot.facts()
    except NotADirectoryError:
        return None
    if facts is not None and modes.S_ISLNK(facts.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return facts


def _check_movable(source: Spot, target: Path) -> None:
    facts = source.facts()
    if facts is None:
        raise FileMissing(f"Could not move {source.path}: there is nothing at that path.")
    if not modes.S_ISLNK(facts.st_mode) or source.path.parent == target.parent:
        return
    leads_to = os.readlink(source.name, dir_fd=source.folder)
    if not leads_to.startswith("/"):
        raise FileRefused(
            f"Could not move {source.path}: it is a symbolic link to {leads_to}, which leads elsewhere from "
            f"{target.parent}. Use the terminal."
        )


def _refuse_pseudo(path: Path) -> None:
    if is_pseudo(path):
        raise FileRefused(f"Could not read {path}: files below /proc, /sys and /dev are not read as text.")


def _regular(path: Path, descriptor: int) -> BinaryIO:
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


def is_pseudo(path: Path) -> bool:
    """Whether the kernel makes the file up: such a one may never end, or hold the environment's keys."""
    # The first part is the root, which may be written with two slashes.
    return not _PSEUDO.isdisjoint(path.parts[1:2])


def _kind(facts: os.stat_result) -> Literal["file", "directory", "other"]:
    if modes.S_ISREG(facts.st_mode):
        return "file"
    return "directory" if modes.S_ISDIR(facts.st_mode) else "other"
