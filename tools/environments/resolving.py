"""Where a path leads: each file system knows that of its own files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from tools.ports import FileSystem


@runtime_checkable
class Resolves(Protocol):
    """A file system whose links are not this machine's."""

    def resolve(self, path: Path) -> Path:
        """The absolute path with all links resolved; what is not there stays as it is named."""
        ...


def real_path(files: FileSystem, path: Path) -> Path:
    """`path` with its symbolic links resolved, as `files` has them."""
    return files.resolve(path) if isinstance(files, Resolves) else Path(os.path.realpath(path))


def missing_root(path: Path, roots: Iterable[Path]) -> Path | None:
    """Which of a session's directories `path` is below that is not there any more: moved or deleted meanwhile."""
    return next((root for root in roots if path.is_relative_to(root) and not root.is_dir()), None)
