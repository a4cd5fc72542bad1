"""Collects the files that a command is likely to change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tools.changes.disk_view import reached
from tools.changes.expansion import Surroundings


class Targets:
    """The files named so far, each once, in the order of the command.

    Args:
        limit: how many files are taken; a directory that holds more goes to `unlisted`.
        is_generated: directories by whose name nobody expects their content back; they go to `unlisted`.
    """

    def __init__(self, limit: int, is_generated: Callable[[str], bool]) -> None:
        self._limit = limit
        self._is_generated = is_generated
        self._paths: dict[Path, None] = {}
        self._unlisted: dict[Path, None] = {}

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files."""
        return tuple(self._paths)

    @property
    def unlisted(self) -> tuple[Path, ...]:
        """Directories that are changed as a whole and whose files are not all among `paths`."""
        return tuple(self._unlisted)

    def written(self, path: str | None, around: Surroundings) -> None:
        """The content of the file that `path` leads to changes."""
        self._add(path, around, follows=True)

    def replaced(self, path: str | None, around: Surroundings) -> None:
        """What stands at `path` itself goes or is replaced, be it a symbolic link."""
        self._add(path, around, follows=False)

    def tree(
        self,
        path: str | None,
        around: Surroundings,
        wanted: Callable[[str], bool] | None = None,
        *,
        follows: bool = False,
    ) -> None:
        """A file, or all files of a directory and below whose name is `wanted`."""
        absolute = around.absolute(path) if path is not None and not around.disk.is_spent() else None
        top = reached(absolute, follows=follows) if absolute is not None else None
        if top is None:
            return
        if around.disk.is_link(str(top)) or not around.disk.is_directory(str(top)):
            if around.disk.exists(str(top)):
                self._take(top)
            return
        if self._is_generated(top.name):
            self._unlisted[top] = None
            return
        for file in around.disk.files_below(str(top)):
            if wanted and not wanted(os.path.basename(file)):  # noqa: PTH119 - a string of os.scandir
                continue
            if not self._take(Path(file)):
                self._unlisted[top] = None
                return
        if around.disk.is_spent():
            self._unlisted[top] = None

    def copied(self, source: str, target: str, around: Surroundings) -> None:
        """What `source` is, a file or a directory, comes to be at `target`."""
        start = None if around.disk.is_spent() else around.absolute(source)
        real = reached(start, follows=True) if start else None
        if real is None or not around.disk.is_directory(str(real)):
            self.written(target, around)
            return
        for file in around.disk.files_below(str(real)):
            self.written(f"{target}/{file[len(str(real)) + 1 :]}", around)
            if len(self._paths) >= self._limit:
                return

    def _add(self, path: str | None, around: Surroundings, *, follows: bool) -> None:
        absolute = around.absolute(path) if path is not None and not around.disk.is_spent() else None
        if absolute is None or (found := reached(absolute, follows=follows)) is None:
            return
        if not around.disk.is_directory(str(found)) or around.disk.is_link(str(found)):
            self._take(found)

    def _take(self, path: Path) -> bool:
        if len(self._paths) >= self._limit and path not in self._paths:
            return False
        self._paths[path] = None
        return True
