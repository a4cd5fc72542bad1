"""Changes several files, all or none: what was done is taken back when a later change fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from tools.errors import FileAccessError, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's content before and after; None where there is no file.

    Attributes:
        path: absolute; of a file that moves, where to.
        source: where a file that moves is now. Its content there is `before`, and nothing is at `path`.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    source: Path | None = None


class FileWriter(Protocol):
    """The part of a `FileSystem` that changes files."""

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """Put `data` in place of `expected`."""
        ...

    def remove(self, path: Path, *, expected: bytes) -> None:
        """Delete a file whose content is `expected`."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move a file to a path where nothing is."""
        ...


@runtime_checkable
class ChangesTogether(Protocol):
    """A file system that asks for all changes before it makes the first."""

    def change_all(self, changes: Sequence[FileChange]) -> Sequence[bytes | None]:
        """Make all changes or none, in order.

        Returns:
            what each file holds now, as `FileSystem.write` tells it.

        Raises:
            ToolError: what failed; nothing is changed, unless it says so.
        """
        ...


def change_all(files: FileWriter, changes: Sequence[FileChange]) -> list[bytes | None]:
    """Make all changes, one after the other, and take them back when one fails.

    Returns:
        what each file holds now.

    Raises:
        ToolError: of the kind that the file system raised. Nothing is changed, unless the message names files that
            could not be put back.
        ToolInterrupted: the same, after a cancel.
    """
    done: list[_Done] = []
    holds: list[bytes | None] = []
    for change in changes:
        written: bytes | None = None
        for step in _steps(change):
            try:
                written = _make(files, step)
            except (ToolError, ToolInterrupted) as problem:
                _take_back(files, done, problem)
                raise
            done.append(_Done(step, written))
        holds.append(written)
    return holds


@dataclass(frozen=True, slots=True)
class _Done:
    """A change that was made, and what the file held then."""

    change: FileChange
    written: bytes | None


def _steps(change: FileChange) -> list[FileChange]:
    """A file that moves and changes does one after the other, so that it keeps its mode."""
    if change.source is None or change.after == change.before:
        return [change]
    return [replace(change, after=change.before), replace(change, source=None)]


def _make(files: FileWriter, change: FileChange) -> bytes | None:
    if change.source is not None:
        files.rename(change.source, change.path)
        return change.after
    if change.after is not None:
        return files.write(change.path, change.after, expected=change.before)
    if change.before is not None:
        files.remove(change.path, expected=change.before)
    return None


def _take_back(files: FileWriter, done: Sequence[_Done], problem: BaseException) -> None:
    """Undo what was done, the last first.

    Raises:
        FileAccessError: a file is no longer as it was left, or cannot be changed.
    """
    left: list[Path] = []
    for each in reversed(done):
        try:
            _undo(files, each.change, each.written)
        except (ToolError, ToolInterrupted):
            left.append(each.change.path)
    if left:
        names = ", ".join(map(str, dict.fromkeys(left)))
        raise FileAccessError(
            f"{str(problem) or 'The turn was cancelled.'} Changes made before that could not be taken back in "
            f"{names}: look at these files."
        ) from problem


def _undo(files: FileWriter, change: FileChange, written: bytes | None) -> None:
    if change.source is not None:
        files.rename(change.path, change.source)
    elif written is None:
        if change.before is not None:
            files.write(change.path, change.before, expected=None)
    elif change.before is None:
        files.remove(change.path, expected=written)
    elif written != change.before:
        files.write(change.path, change.before, expected=written)
