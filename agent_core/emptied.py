"""Directories that are in the way of a file, after all their files have gone."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def remove_emptied(directory: Path) -> None:
    """Remove a directory (resolved) in which only directories are left; nothing happens where there is more."""
    if os.path.realpath(directory) != str(directory) or any(files for _, _, files in os.walk(directory)):
        return
    for path, _, _ in os.walk(directory, topdown=False):
        # A link to a directory stays, and so what it is in.
        with contextlib.suppress(OSError):
            Path(path).rmdir()
