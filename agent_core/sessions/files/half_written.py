"""Files that a process was writing when it was killed, or had no more time to end, beside the one that it would have
replaced: nobody else takes them away.

A file is put in its place by a rename, so the half-written one has a name of its own, for a moment. The directory is
known: what a file was is noted before it is changed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Set as AbstractSet
from pathlib import Path

from agent_core.sessions.database.database import Database
from agent_core.sessions.files.paths import path_from, shown_path
from tools.environments.atomic_writes import holding

log = logging.getLogger(__name__)

_NAME = re.compile(r"\.hermes-[0-9a-f]{12}\.tmp")
_LOOKED_BACK = 7 * 86_400.0
_MOST = 2_000
# A turn that was given up has ended, but its worker may have gone on as long as the process.
# An undo has no end of its own in these rows: those of all are looked at.
_CHANGED = """
SELECT path FROM file_versions WHERE created_at > ?1 AND (?3 = '' OR session_id = ?3)
    AND (rewind_id IS NOT NULL OR EXISTS (SELECT 1 FROM turns
    WHERE turns.session_id = file_versions.session_id AND number = turn
    AND (ended_at IS NULL OR outcome = '')))
GROUP BY path ORDER BY max(id) DESC LIMIT ?2
"""


def may_be_in(database: Database, session_id: str = "") -> AbstractSet[Path]:
    """The directories where turns that did not end or were given up, and undos, have changed files in a week.

    Args:
        session_id: whose turns; '' for all.

    Raises:
        StoreError: the database cannot be read.
    """
    since = database.clock() - _LOOKED_BACK
    with database.read() as connection:
        rows = connection.execute(_CHANGED, (since, _MOST, session_id)).fetchall()
    return {path_from(path).parent for (path,) in rows}


def drop_half_written(folders: AbstractSet[Path], before: float) -> int:
    """Remove them from directories; how many.

    Args:
        before: seconds since the epoch; a file that was touched since may be a living process's.
    """
    return sum(_drop_in(folder, before) for folder in folders)


def _drop_in(folder: Path, before: float) -> int:
    dropped = 0
    # A directory may be gone, or another's by now: what cannot be looked at is left.
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - names are wanted
            if _NAME.fullmatch(name):
                dropped += _drop(folder / name, before)
    return dropped


def _drop(path: Path, before: float) -> bool:
    with holding(path) as spot:
        facts = spot.facts()
        if facts is None or facts.st_mtime >= before:
            return False
        spot.unlink()
    log.info("%s, which a killed process was writing, is removed", shown_path(path))
    return True
