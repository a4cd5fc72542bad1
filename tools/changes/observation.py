"""What a command has changed: a look at the files before it runs, another one after it, and the differences.

The look before holds the contents of what the command names, of whatever else is small and near, and the facts of
every file within the bounds. No look ever raises or writes: the command runs as it would without one.
"""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.changes.command_targets import foreseen
from tools.changes.comparison import Comparison
from tools.changes.contents_before import ContentsBefore
from tools.changes.facts import CLOCK_STEP_NS, Facts, look
from tools.changes.held_content import ContentCache
from tools.changes.moves import Moves
from tools.changes.records import UNKNOWN_HASH, FileBefore, FileDifference, FolderDifference, ObservationLimits
from tools.changes.root_scan import RootScan, scan
from tools.ports import CommandSpec

__all__ = ["UNKNOWN_HASH", "ContentCache", "FileBefore", "FileDifference", "Observation", "ObservationLimits"]

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
