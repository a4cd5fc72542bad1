"""The files of a session that works elsewhere: some directories are this machine's, all else is the other one's."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from tools.errors import FileAccessError
from tools.light_dataclass import dataclass
from tools.ports import FileStat, FileSystem, SearchQuery, SearchResult, real_path


@dataclass(frozen=True, slots=True)
class RoutedFiles:
    """Implements `tools.ports.FileSystem`. Paths come resolved, but for `resolve`.

    Attributes:
        here: this machine's files.
        there: the other machine's; asked for when it is first needed, as it may not be reachable.
        shared: directories that are this machine's, under the same names on both.
    """

    here: FileSystem
    there: Callable[[], FileSystem]
    shared: tuple[Path, ...]

    def resolve(self, path: Path) -> Path:
        """Where the path leads, with the links of the machine that has it."""
        if self._is_here(path) and self._is_here(real := Path(os.path.realpath(path))):
            return real
        return real_path(self.there(), path)

    def stat(self, path: Path) -> FileStat | None:
        """As the machine that has it."""
        return self._of(path).stat(path)

    def open(self, path: Path) -> BinaryIO:
        """As the machine that has it."""
        return self._of(path).open(path)

    def open_saved(self, path: Path) -> BinaryIO:
        """As the machine that has it."""
        return self._of(path).open_saved(path)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        """As the machine that has it."""
        return self._of(path).write(path, data, expected=expected)

    def remarks(self) -> tuple[str, ...]:
        """Those of this machine's files: an editor may have written them."""
        return self.here.remarks()

    def list(self, path: Path) -> Sequence[str]:
        """As the machine that has it."""
        return self._of(path).list(path)

    def remove(self, path: Path, *, expected: bytes) -> None:
        """As the machine that has it."""
        self._of(path).remove(path, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        """Move within one machine.

        Raises:
            FileAccessError: the two are on different ones.
        """
        if self._is_here(source) != self._is_here(target):
            raise FileAccessError(
                f"Could not move {source} to {target}: they are on different machines. Write the new file, then "
                "remove the old one."
            )
        self._of(source).rename(source, target)

    def search(self, query: SearchQuery) -> SearchResult:
        """As the machine that has it."""
        return self._of(query.path).search(query)

    def _of(self, path: Path) -> FileSystem:
        return self.here if self._is_here(path) else self.there()

    def _is_here(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in self.shared)
