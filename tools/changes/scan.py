"""Bounded looks at the disk: whole roots, and single paths."""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from tools.changes.facts import Facts, facts_of
from tools.light_dataclass import dataclass

# Directories whose files nobody wants back: what tools made, downloaded or keep for themselves.
# Two kinds. Those of the first have names that no one gives to their own work (`node_modules`); they are never looked
# into. `build`, `dist` and the like are mostly made by tools but sometimes written by people, and small then: they
# are looked into after everything else, so that a large one cannot take the place of the sources.

_GENERATED = frozenset({
    # version control
    ".git", ".hg", ".svn", ".jj", ".bzr",
    # packages and environments
    "node_modules", "bower_components", "jspm_packages", ".venv", "venv", "virtualenv", "site-packages", ".tox",
    ".nox", ".pnpm-store", ".yarn", ".bundle", ".gradle", ".m2", ".cargo", ".rustup", ".eggs", "Pods", ".terraform",
    ".conda",
    # caches and what compilers leave
    "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache", ".parcel-cache",
    ".turbo", ".next", ".nuxt", ".svelte-kit", ".angular", ".ccache", ".nyc_output", ".ipynb_checkpoints",
    ".dart_tool", "DerivedData", ".import_linter_cache", "__pypackages__", ".direnv", ".Trash", ".npm",
})  # fmt: skip
_PERHAPS_GENERATED = frozenset(
    {"build", "dist", "target", "out", "obj", "coverage", "htmlcov", "_build", "vendor", "bin"}
)
_CACHE_MARK = "CACHEDIR.TAG"


def is_generated(name: str) -> bool:
    """True for a directory that is never looked into, by its name."""
    return name in _GENERATED


def is_looked_into_last(name: str) -> bool:
    """True for a directory that may be somebody's work or not."""
    return name in _PERHAPS_GENERATED


def marks_a_cache(name: str) -> bool:
    """True for the file by which programs mark directories that may be deleted at any time."""
    return name == _CACHE_MARK


# A bounded look at every file of some directories, the nearest first.

_ENTRIES_PER_LOOK_AT_THE_CLOCK = 64
_FILE_TYPES = frozenset({stat.S_IFREG, stat.S_IFLNK})


@dataclass(slots=True)
class RootScan:
    """What was seen.

    Attributes:
        started_ns: when, in nanoseconds since the epoch.
        files: regular files and symbolic links by their absolute path, the nearest first.
        folders: directories that were met, with their permissions, or None for one that is not looked into;
            `listed`: those whose every entry was seen.
        others: pipes, sockets and devices, by their path, with their mode.
        incomplete: why it stopped early; empty where it did not.
    """

    started_ns: int
    files: dict[str, Facts] = field(default_factory=dict)
    folders: dict[str, int | None] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    incomplete: str = ""

    def shows_absence(self, path: str) -> bool:
        """True when nothing was at `path` for sure: it, or a directory on the way, was not in one that was listed."""
        current = path
        while True:
            folder = os.path.dirname(current)  # noqa: PTH120 - a string of os.scandir
            if folder in self.listed:
                return current not in self.files and current not in self.folders and current not in self.others
            if folder in self.folders or folder == current:
                return False
            current = folder


def scan(roots: Sequence[Path], *, max_files: int, max_seconds: float, skipped: Collection[str] = ()) -> RootScan:
    """Look at the files of `roots` and below. Symbolic links, other mounts and generated files are not followed.

    Args:
        max_files: after so many it stops; `max_seconds` likewise.
        skipped: real paths of directories that are not looked into, and of files that are not looked at.
    """
    return _Scanner(max_files, time.monotonic() + max_seconds, max_seconds, frozenset(skipped)).run(roots)


class _Enough(Exception):
    """A bound is reached."""


class _Scanner:
    def __init__(self, max_files: int, deadline: float, max_seconds: float, skipped: frozenset[str]) -> None:
        self._max_files = max_files
        self._deadline = deadline
        self._max_seconds = max_seconds
        self._skipped = skipped
        self._seen = RootScan(time.time_ns())
        self._roots: dict[str, int | None] = {}
        # Directories with the device that their root is on.
        self._next: deque[tuple[str, int]] = deque()
        self._last: deque[tuple[str, int]] = deque()

    def run(self, roots: Sequence[Path]) -> RootScan:
        for root in roots:
            try:
                real = os.path.realpath(root)
                facts = os.lstat(real)
            except (OSError, ValueError):
                continue
            self._next.append((real, facts.st_dev))
            self._roots[real] = stat.S_IMODE(facts.st_mode)
        self._seen.folders.update(self._roots)
        try:
            for queue, later in ((self._next, self._last), (self._last, self._last)):
                while queue:
                    folder, device = queue.popleft()
                    if folder not in self._seen.listed:
                        self._list(folder, device, queue, later)
        except _Enough as reason:
            self._seen.incomplete = str(reason)
        return self._seen

    def _list(self, folder: str, device: int, queue: deque[tuple[str, int]], later: deque[tuple[str, int]]) -> None:
        try:
            with os.scandir(folder) as found:
                entries = list(itertools.islice(found, self._max_files + 1))
        except OSError:
            return
        if folder not in self._roots and any(marks_a_cache(entry.name) for entry in entries):
            return
        inner: list[os.DirEntry[str]] = []
        files = self._seen.files
        for place, entry in enumerate(entries):
            if place % _ENTRIES_PER_LOOK_AT_THE_CLOCK == 0 or len(files) >= self._max_files:
                self._check_bounds()
            try:
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry)
                    continue
                facts = facts_of(entry.stat(follow_symlinks=False))
            except OSError:
                continue
            if entry.path in self._skipped:
                self._seen.folders[entry.path] = None  # it is there, and nobody may tell more
            elif stat.S_IFMT(facts.st_mode) in _FILE_TYPES:
                files[entry.path] = facts
            else:
                self._seen.others[entry.path] = facts.st_mode
        if len(entries) <= self._max_files:
            self._seen.listed.add(folder)
        for entry in inner:
            self._enter(entry, device, later if is_looked_into_last(entry.name) else queue)

    def _check_bounds(self) -> None:
        if time.monotonic() > self._deadline:
            raise _Enough(f"looking took longer than {self._max_seconds:g} s")
        if len(self._seen.files) >= self._max_files:
            raise _Enough(f"there are more than {self._max_files} files")

    def _enter(self, entry: os.DirEntry[str], device: int, queue: deque[tuple[str, int]]) -> None:
        self._seen.folders[entry.path] = None
        if is_generated(entry.name) or entry.path in self._skipped:
            return
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:
            return
        self._seen.folders[entry.path] = stat.S_IMODE(facts.st_mode)
        if facts.st_dev == device:
            queue.append((entry.path, device))


# The disk as a command's words are looked up in it: only reading, and never for long.

_UNREAL = ("/proc/", "/sys/", "/dev/")
_MAX_PATH_CHARS = 4096
_CLOCK_TO_PROCESSOR = 8


class DiskView:
    """Looks at paths until its time or its number of entries is used up; then everything seems to be empty.

    Args:
        max_seconds: how much of the processor it may use. The time by the clock is bounded more loosely: on a busy
            machine a short look must not come to nothing.
        max_entries: how many directory entries it reads in all.
    """

    def __init__(self, max_seconds: float, max_entries: int = 20_000) -> None:
        self._max_used = time.thread_time() + max_seconds
        self._deadline = time.monotonic() + max_seconds * _CLOCK_TO_PROCESSOR
        self._left = max_entries

    def is_spent(self) -> bool:
        """True once it does not look any more."""
        return self._left <= 0 or time.monotonic() > self._deadline or time.thread_time() > self._max_used

    def entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """What is in a directory, in no order; nothing where it cannot be read."""
        if self.is_spent():
            return
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    self._left -= 1
                    if self._left % _ENTRIES_PER_LOOK_AT_THE_CLOCK == 0 and self.is_spent():
                        return
                    yield entry
        except (OSError, ValueError):
            return

    def is_directory(self, path: str) -> bool:
        """True for a directory, also through a symbolic link."""
        try:
            return not self.is_spent() and Path(path).is_dir()
        except (OSError, ValueError):
            return False

    def is_link(self, path: str) -> bool:
        """True for a symbolic link."""
        try:
            return not self.is_spent() and Path(path).is_symlink()
        except (OSError, ValueError):
            return False

    def exists(self, path: str) -> bool:
        """True for anything, dangling symbolic links too."""
        try:
            return not self.is_spent() and os.path.lexists(path)
        except (OSError, ValueError):
            return False

    def files_below(self, folder: str) -> Iterator[str]:
        """Files and links in a directory and below, nearest first; symbolic links are not followed."""
        folders = deque([folder])
        while folders:
            for entry in self.entries(folders.popleft()):
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        yield entry.path
                except OSError:
                    continue


def reached(path: str, *, follows: bool) -> Path | None:
    """Where a command that uses `path` gets to: with the last symbolic link followed, or only those before it.

    None for what is no real file: devices, what the kernel makes up, names that no file can have.
    """
    if len(path) > _MAX_PATH_CHARS or "\0" in path:
        return None
    try:
        path = path.rstrip("/") or "/"
        folder, name = os.path.split(path)
        last_is_special = name in {"", ".", ".."}
        real = os.path.realpath(path) if follows or last_is_special else os.path.join(os.path.realpath(folder), name)  # noqa: PTH118 - a name that is no Path yet
        return None if f"{real}/".startswith(_UNREAL) else Path(real)
    except (OSError, ValueError):
        return None
