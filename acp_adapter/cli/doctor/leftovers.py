"""Files of the home that a process made for a moment and could not remove, because it was killed."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from agent_core.home import Home

_OLD = 3600.0
# The names that our own writers give: a setting, a JSON file or a database on its way into its place.
_DRAFT = re.compile(
    r"(?:config\.yaml|\.env)(?:\.bak\d*)?\.[a-z0-9_]{8}\.tmp"
    r"|(?:oauth_tokens|credential_state|model-lists|plugins)\.json\.tmp|permissions\.yaml\.tmp"
    r"|hermes-acp\.db(?:\.v\d+\.bak)?\.\d+\.(?:tmp|new)(?:-wal|-shm|-journal)?"
)


def leftovers(home: Home) -> tuple[Path, ...]:
    """The files, none of which anybody uses: they are an hour old, or of a process that is gone."""
    return (*_drafts(home.root), *_reports(home.running))


def _drafts(root: Path) -> Iterator[Path]:
    for path in _files(root):
        if _DRAFT.fullmatch(path.name) and _is_old(path):
            yield path


def _reports(folder: Path) -> Iterator[Path]:
    """What processes told of their turns."""
    for path in _files(folder):
        is_report = path.suffix == ".json" and path.stem.isdecimal()
        if _is_old(path) and (path.suffix == ".new" or (is_report and not _lives(path))):
            yield path


def _lives(report: Path) -> bool:
    from agent_core.sessions.live.leases import is_alive  # noqa: PLC0415 - loads SQLite
    from agent_core.sessions.records import Holder  # noqa: PLC0415 - the same

    try:
        return is_alive(Holder(**json.loads(report.read_text(encoding="utf-8"))["process"]), time.time())
    except (OSError, ValueError, KeyError, TypeError):
        return False  # half a file, an hour old


def _files(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    except OSError:
        return []


def _is_old(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - _OLD
    except OSError:
        return False
