"""Copies of skills that were deleted: `deleted-skills` of the home has the last ones."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from tools.errors import ToolError

FOLDER = "deleted-skills"
_MOST = 20
_COPY = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}-[a-z0-9-]{1,64}")


def keep(home: Path, name: str, contents: Mapping[str, bytes]) -> Path:
    """Write a copy, for the user alone; the oldest beyond twenty go.

    Args:
        contents: by relative paths that are known to stay inside.

    Raises:
        ToolError: it cannot be written.
    """
    stamp = dt.datetime.now(tz=dt.UTC).strftime("%Y%m%d-%H%M%S")
    target = home / FOLDER / f"{stamp}-{secrets.token_hex(3)}-{name}"
    try:
        (home / FOLDER).mkdir(mode=0o700, exist_ok=True)
        target.mkdir(mode=0o700)
        for relative, data in contents.items():
            path = target / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as problem:
        shutil.rmtree(target, ignore_errors=True)
        raise ToolError(
            f"The skill {name} was not deleted, because no copy of it could be kept in {home / FOLDER}: "
            f"{problem.strerror or problem}. Ask the user."
        ) from problem
    for old in sorted(_copies(home))[:-_MOST]:
        drop(home, home / FOLDER / old)
    return target


def drop(home: Path, copy: Path) -> None:
    """Remove a copy that `keep` made; of anything else nothing."""
    if copy.parent == home / FOLDER and _COPY.fullmatch(copy.name) and not copy.is_symlink():
        shutil.rmtree(copy, ignore_errors=True)


def remove_empty(folder: Path) -> None:
    """Remove `folder` and what is in it, as far as nothing but empty folders is there."""
    for here, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            Path(here).rmdir()


def _copies(home: Path) -> list[str]:
    try:
        return [name for name in os.listdir(home / FOLDER) if _COPY.fullmatch(name)]  # noqa: PTH208 - names alone
    except OSError:
        return []
