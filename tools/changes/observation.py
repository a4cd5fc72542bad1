"""What a command has changed: a look at the files before it runs, another one after it, and the differences.

The look before holds the contents of what the command names, of whatever else is small and near, and the facts of
every file within the bounds. No look ever raises or writes: the command runs as it would without one.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tools.changes.command_targets import foreseen
from tools.changes.facts import (
    CLOCK_STEP_NS,
    UNKNOWN_HASH,
    ContentCache,
    Facts,
    FileBefore,
    FileDifference,
    FolderDifference,
    ObservationLimits,
    look,
    read_content,
)
from tools.changes.scan import RootScan, scan
from tools.ports import CommandSpec

__all__ = ["UNKNOWN_HASH", "ContentCache", "FileBefore", "FileDifference", "Observation", "ObservationLimits"]


# Contents as they were, so that what a command changes without a word can be put back.

_MEGABYTE = 1_000_000


class ContentsBefore:
    """The contents of one observation.

    Attributes:
        incomplete: why not every small file is held; empty where all are.
    """

    def __init__(self, limits: ObservationLimits, cache: ContentCache | None) -> None:
        self._limits = limits
        self._cache = cache
        self._files: Mapping[str, Facts] = {}
        self._contents: dict[str, bytes] = {}
        self._bytes = 0
        self._named: dict[str, Facts | None] = {}
        self._named_bytes = 0
        self._copy_until = time.monotonic() + limits.max_copy_seconds
        self.incomplete = ""

    def hold(self, files: Mapping[str, Facts], deadline: float) -> None:
        """Read the small ones of `files` in their order, until `deadline` (of the monotonic clock) or the bound."""
        self._files = files
        for path, facts in files.items():
            if facts.size > self._limits.max_held_file:
                continue
            if self._bytes + facts.size > self._limits.max_held_bytes:
                self.incomplete = f"the files are larger than {_size(self._limits.max_held_bytes)} together"
                return
            cached = self._cache.get(path, facts) if self._cache else None
            if cached is None and time.monotonic() > deadline:
                self.incomplete = f"looking took longer than {self._limits.max_seconds:g} s"
                continue
            content = cached if cached is not None else self._read(path, facts)
            if content is not None:
                self._contents[path] = content
                self._bytes += len(content)

    def foreseen(self, path: Path) -> FileBefore | None:
        """A file that the command names, with its content as far as the bounds allow; None for directories."""
        name = str(path)
        facts = look(name)
        self._named[name] = facts
        if facts is None:
            lost = "" if not os.path.lexists(path) else "it could not be looked at"
            return FileBefore(path, None, None, lost)
        if not facts.is_file:
            return None
        if time.monotonic() > self._copy_until:
            return FileBefore(path, None, facts.mode, self._limits.too_slow)
        room = self._limits.max_foreseen_bytes - self._named_bytes
        if facts.size > self._limits.max_file_bytes or facts.size > room:
            limit = min(self._limits.max_file_bytes, self._limits.max_foreseen_bytes)
            return FileBefore(path, None, facts.mode, f"larger than {_size(limit)}, alone or with the others")
        try:
            held = self._contents.get(name) if self._files.get(name) == facts else None
            content = held if held is not None else read_content(name, facts, self._limits.max_file_bytes)
        except OSError as problem:
            return FileBefore(path, None, facts.mode, f"it could not be read: {problem.strerror}")
        if content is None:
            return FileBefore(path, None, facts.mode, "it was being written")
        self._named_bytes += len(content)
        return FileBefore(path, content, facts.mode)

    def facts(self, path: str) -> Facts | None:
        """The facts of a foreseen file."""
        return self._named.get(path)

    def before(self, path: str, facts: Facts) -> FileBefore:
        """A file of the roots as it was when `facts` were taken."""
        content = self._contents.get(path)
        lost = "" if content is not None else self._why_not_held(facts)
        return FileBefore(Path(path), content, facts.mode, lost)

    def _why_not_held(self, facts: Facts) -> str:
        if facts.size > self._limits.max_held_file:
            return f"larger than {_size(self._limits.max_held_file)}, and the command did not name it"
        return self.incomplete or "it could not be read"

    def _read(self, path: str, facts: Facts) -> bytes | None:
        try:
            content = read_content(path, facts, self._limits.max_held_file)
        except OSError:
            return None
        if content is not None and self._cache:
            self._cache.put(path, facts, content)
        return content


def _size(count: int) -> str:
    return f"{count >> 10} KB" if count < _MEGABYTE else f"{count // _MEGABYTE} MB"


# The files compared with what they were.


class Comparison:
    """Tells the differences, file by file.

    Args:
        before: the look before the command; `held`: the contents from then.
        max_bytes: how much is read in all. What is beyond has an unknown content.
    """

    def __init__(self, before: RootScan, held: ContentsBefore, max_bytes: int) -> None:
        self._before = before
        self._held = held
        self._left = max_bytes

    def of(self, path: str, named: FileBefore | None) -> FileDifference | None:
        """What happened to `path`; None where nothing did, or nobody can tell.

        Args:
            named: how it was, if the command names it.
        """
        now = look(path)
        old = self._held.facts(path) if named else self._before.files.get(path)
        before = named or self._known(path, old, now)
        if before is None or (before.mode is None and not before.lost and (now is None or not now.is_file)):
            return None
        if now is None:
            return FileDifference(before.path, before, None, None)
        if not now.is_file:
            return FileDifference(before.path, before, UNKNOWN_HASH, now.mode)
        if before.content is None and old is not None:
            return self._without_content(before, old, now)
        content, now_hash = self._content(path, now)
        if before.content is not None and content == before.content and now.mode == before.mode:
            return None
        return FileDifference(before.path, before, now_hash, now.mode)

    def _known(self, path: str, old: Facts | None, now: Facts | None) -> FileBefore | None:
        """How a file of the roots was; None where it was not seen and need not have changed."""
        if old is not None:
            return self._held.before(path, old)
        if self._before.shows_absence(path) or path in self._before.listed:  # a directory was there, and no file
            return FileBefore(Path(path), None, None)
        if now is None or now.ctime_ns < self._before.started_ns - CLOCK_STEP_NS:
            return None
        # Nobody can set the time that tells: it was made or changed since. Which of both, nobody knows.
        return FileBefore(Path(path), None, None, "it was not seen before the command")

    def _without_content(self, before: FileBefore, old: Facts, now: Facts) -> FileDifference | None:
        if now == old:
            return None
        is_same_content = (now.mtime_ns, now.size, now.inode) == (old.mtime_ns, old.size, old.inode)
        if is_same_content and now.mode == old.mode:
            return None
        content, now_hash = self._content(str(before.path), now)
        if is_same_content and content is not None:
            before = replace(before, content=content, lost="")
        return FileDifference(before.path, before, now_hash, now.mode)

    def _content(self, path: str, facts: Facts) -> tuple[bytes | None, str]:
        """The content now and its hash, as far as there is something left to spend."""
        if facts.size > self._left:
            return None, UNKNOWN_HASH
        try:
            content = read_content(path, facts, self._left)
        except OSError:
            return None, UNKNOWN_HASH
        if content is None:
            return None, UNKNOWN_HASH
        self._left -= len(content)
        return content, hashlib.sha256(content).hexdigest()


# Files that a command has moved: whoever takes it back must not remove the only copy of what cannot come back.
# A file that is new at its place may be one that went from another. Where the content from there is not held, it is
# read here, so that the file can come back. Where that cannot be, or nobody looked at where it came from, what is new
# is lost as well: it is left alone, and told.

_MAY_BE_ONLY_COPY = "it may be the only copy of {}, which cannot be brought back"
_FROM_UNSEEN = "it was moved here from where nobody looked: it may be the only copy"


class Moves:
    """Tells the files that were moved from those that were made.

    Args:
        facts: how a file was before the command, by its path; None for one that was not seen.
        started_ns: when the look before began.
        folder_is_gone: whether a directory is gone whose files were not all looked at.
        max_bytes: how much is read of one file, and of all together.
    """

    def __init__(
        self,
        facts: Callable[[str], Facts | None],
        started_ns: int,
        *,
        folder_is_gone: bool,
        max_bytes: tuple[int, int],
    ) -> None:
        self._facts = facts
        self._old = started_ns - CLOCK_STEP_NS
        self._folder_is_gone = folder_is_gone
        self._max_file, self._left = max_bytes

    def followed(self, differences: Sequence[FileDifference], known: Iterable[Facts]) -> list[FileDifference]:
        """The differences, with what the moves tell about them.

        Args:
            known: the facts of all files that were seen before.
        """
        told = {str(one.path): one for one in differences}
        by_inode: dict[int, str] = {}
        by_time: dict[tuple[int, int], str] = {}
        for path, one in told.items():
            old = self._facts(path) if one.before.lost else None
            if old is not None:
                by_inode[old.inode] = by_time[old.size, old.mtime_ns] = path
        seen: set[int] | None = None
        for path in list(told):
            now = look(path)
            if now is None or not now.is_file:
                continue
            source = by_inode.get(now.inode) or by_time.get((now.size, now.mtime_ns))
            if source is not None and source != path:
                self._moved(told, source, path, now)
            elif _is_new(told[path].before):
                seen = {facts.inode for facts in known} if seen is None else seen
                if self._came_from_unseen(now, seen):
                    _lose(told, path, _FROM_UNSEEN)
        return list(told.values())

    def _moved(self, told: dict[str, FileDifference], source: str, path: str, now: Facts) -> None:
        before = told[source].before
        if before.content is not None:
            return
        old = self._facts(source)
        # The same time and size alone may be another file, as archives make them.
        is_same = old is not None and (old.inode, old.size, old.mtime_ns) == (now.inode, now.size, now.mtime_ns)
        content = self._read(path, now) if is_same else None
        if content is None:
            _lose(told, path, _MAY_BE_ONLY_COPY.format(source))
        else:
            told[source] = replace(told[source], before=replace(before, content=content, lost=""))

    def _came_from_unseen(self, now: Facts, seen: set[int]) -> bool:
        # Moving a directory changes no time of the files in it; other devices get copies that keep `mtime`.
        if now.ctime_ns < self._old:
            return now.inode not in seen
        return self._folder_is_gone and now.mtime_ns < self._old

    def _read(self, path: str, facts: Facts) -> bytes | None:
        most = min(self._max_file, self._left)
        if facts.size > most:
            return None
        try:
            content = read_content(path, facts, most)
        except OSError:
            return None
        if content is None or len(content) != facts.size or look(path) != facts:
            return None
        self._left -= len(content)
        return content


def _is_new(before: FileBefore) -> bool:
    return before.content is None and before.mode is None and not before.lost


def _lose(told: dict[str, FileDifference], path: str, reason: str) -> None:
    one = told[path]
    told[path] = replace(one, before=replace(one.before, content=None, lost=reason))


# The observation.

# The look after the command may take so many times as long, and see so many times as much.
_SECOND_LOOK = 4
# At least so much of the processor goes into what the command's text tells.
_FORESIGHT_SECONDS = 0.03


class Observation:
    """One command's changes. Made right before the command runs; not for several threads.

    Args:
        spec: what will run.
        roots: the directories that are searched for changes. Files that the command names are seen everywhere.
        limits: the bounds.
        cache: contents from earlier observations of the same session; makes the next look cheap.
        skipped: directories that are never looked into (the program's own home: its database is no file to undo), and
            files that are never opened.

    Attributes:
        is_read_only: the command is known to change nothing: nothing is looked at.
        foreseen: what the command's text names as written, moved or deleted, and what its git commands would take,
            as it is now.
        folders: directories that the command was found to have made, removed or given other permissions, outermost
            first; known after `differences`.
    """

    def __init__(
        self,
        spec: CommandSpec,
        roots: tuple[Path, ...],
        limits: ObservationLimits | None = None,
        *,
        cache: ContentCache | None = None,
        skipped: tuple[Path, ...] = (),
    ) -> None:
        self._limits = limits or ObservationLimits()
        self._roots = roots
        self._skipped = tuple(os.path.realpath(folder) for folder in skipped)
        told = foreseen(
            spec.command,
            spec.cwd,
            roots,
            environment=_environment(spec),
            max_paths=self._limits.max_foreseen,
            max_seconds=max(_FORESIGHT_SECONDS, self._limits.max_seconds / 5),
        )
        self.is_read_only = told.is_read_only
        self.foreseen: tuple[FileBefore, ...] = ()
        self.folders: tuple[FolderDifference, ...] = ()
        self._cut: list[str] = []
        if told.is_read_only:
            return
        deadline = time.monotonic() + self._limits.max_seconds
        self._before = self._scan(1)
        self._held = ContentsBefore(self._limits, cache)
        self._held.hold(self._before.files, deadline)
        resolved = [Path(os.path.realpath(root)) for root in roots]
        from tools.environments.git_effects import git_effects  # noqa: PLC0415 - a start needs none of it

        git = git_effects(spec.command, spec.cwd, resolved)
        named = dict.fromkeys((*told.paths, *git.taken))
        paths = [path for path in named if not self._is_skipped(str(path))]
        self.foreseen = tuple(filter(None, (self._held.foreseen(path) for path in paths)))
        self._named = {str(file.path): file for file in self.foreseen}
        folders = dict.fromkeys((*told.unlisted, *git.folders))
        self._folders = [str(path) for path in folders if os.path.isdir(path)]  # noqa: PTH112 - this one never raises
        if self._before.incomplete:
            self._cut.append(f"Not every file was looked at before the command: {self._before.incomplete}.")
        if self._held.incomplete:
            self._cut.append(f"Not every content was kept before the command: {self._held.incomplete}.")

    @property
    def too_slow(self) -> str:
        """Why a foreseen file has no content for which there was no time left."""
        return self._limits.too_slow

    @property
    def incomplete(self) -> str:
        """Why not everything was seen; empty where all was."""
        return " ".join(self._cut)

    def differences(self) -> tuple[FileDifference, ...]:
        """Look again, after the command: what changed, sorted by path.

        A directory is among them only where it is gone and its files were not all looked at; it is `lost` then.
        """
        if self.is_read_only:
            return ()
        after = self._scan(_SECOND_LOOK)
        if after.incomplete:
            self._cut.append(f"Not every file was looked at after the command: {after.incomplete}.")
        comparison = Comparison(self._before, self._held, self._limits.max_after_bytes)
        found = [comparison.of(path, self._named.get(path)) for path in sorted(self._candidates(after))]
        self.folders = tuple(self._folder_differences(after))
        unlisted = self._before.folders.keys() - self._before.listed - after.folders.keys()
        unseen = (folder for folder in unlisted if not self._is_skipped(folder))
        gone = [
            _gone(folder)
            for folder in dict.fromkeys((*self._folders, *sorted(unseen)))
            if not os.path.lexists(folder)
        ]
        moves = Moves(
            self._facts_before,
            self._before.started_ns,
            folder_is_gone=bool(gone),
            max_bytes=(self._limits.max_file_bytes, self._limits.max_foreseen_bytes),
        )
        known = itertools.chain(self._before.files.values(), filter(None, map(self._held.facts, self._named)))
        told = moves.followed([one for one in found if one is not None], known)
        others = self._other_differences(after)
        told = [one for one in told if str(one.path) not in others]
        return tuple(sorted([*told, *gone, *others.values()], key=lambda difference: str(difference.path)))

    def _folder_differences(self, after: RootScan) -> Iterator[FolderDifference]:
        before = self._before
        for folder in sorted(before.folders.keys() | after.folders.keys()):
            was, now = before.folders.get(folder), after.folders.get(folder)
            if folder not in before.folders:
                if before.shows_absence(folder):
                    yield FolderDifference(Path(folder), None, now)
                continue
            if was is None or was == now or folder not in before.listed:
                continue
            if now is not None or not os.path.isdir(folder):  # noqa: PTH112 - this one never raises
                yield FolderDifference(Path(folder), was, now)

    def _other_differences(self, after: RootScan) -> dict[str, FileDifference]:
        """Pipes, sockets and devices that came or went: nobody makes or removes them in an undo."""
        found: dict[str, FileDifference] = {}
        for path, mode in self._before.others.items():
            now = look(path)
            if now is None or stat.S_IFMT(now.st_mode) != stat.S_IFMT(mode):
                was = FileBefore(Path(path), None, None, f"it was {_kind(mode)}, which is not made again")
                found[path] = FileDifference(was.path, was, None if now is None else UNKNOWN_HASH, None)
        for path, mode in after.others.items():
            if path not in self._before.others and self._before.shows_absence(path):
                left = FileBefore(Path(path), None, None, f"it is {_kind(mode)}, which is left where it is")
                found[path] = FileDifference(left.path, left, UNKNOWN_HASH, stat.S_IMODE(mode))
        return found

    def _facts_before(self, path: str) -> Facts | None:
        return self._held.facts(path) if path in self._named else self._before.files.get(path)

    def _scan(self, share: int) -> RootScan:
        limits = self._limits
        seconds = limits.max_seconds * share
        return scan(self._roots, max_files=limits.max_files * share, max_seconds=seconds, skipped=self._skipped)

    def _is_skipped(self, path: str) -> bool:
        return any(path == folder or path.startswith(f"{folder}/") for folder in self._skipped)

    def _candidates(self, after: RootScan) -> set[str]:
        """Paths that may have changed. Those that changed right before the first look may look the same."""
        before = self._before
        fresh = before.started_ns - CLOCK_STEP_NS
        known = {
            path for path, facts in before.files.items() if facts.ctime_ns > fresh or after.files.get(path) != facts
        }
        return known | (after.files.keys() - before.files.keys()) | self._named.keys()


def _environment(spec: CommandSpec) -> Mapping[str, str]:
    return {**os.environ, **(spec.env or {})}


def _kind(mode: int) -> str:
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def _gone(folder: str) -> FileDifference:
    path = Path(folder)
    lost = "a directory whose files were too many to keep, or are made by tools"
    return FileDifference(path, FileBefore(path, None, None, lost), None, None)
