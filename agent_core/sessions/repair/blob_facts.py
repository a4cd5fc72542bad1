"""Which kept file contents are referred to, and which are there."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from agent_core.sessions.files.blobs import BlobStore
from tools.light_dataclass import dataclass

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class BlobFacts:
    """Numbers of kept contents.

    Attributes:
        present, size: how many there are, and their bytes on disk.
        missing: referred to, but not there.
        unreferenced: there, but nothing refers to them; they are removed in time.
        unreadable: why the directory could not be read; '' if it could. The other numbers say nothing then.
    """

    present: int = 0
    size: int = 0
    missing: int = 0
    unreferenced: int = 0
    unreadable: str = ""


def blob_facts(connection: sqlite3.Connection | None, root: Path) -> BlobFacts:
    """Compare what the database refers to with what is below `root`. Without a database nothing is referred to.

    Raises:
        sqlite3.Error: the database cannot be read.
    """
    wanted = set() if connection is None else referenced(connection)
    try:
        sizes = {blob.hash: blob.size for blob in BlobStore(root).files()}
    except OSError as problem:
        return BlobFacts(unreadable=problem.strerror or type(problem).__name__)
    if wanted and not root.is_dir():
        return BlobFacts(missing=len(wanted), unreadable="there is no such directory")
    present = sizes.keys()
    return BlobFacts(len(sizes), sum(sizes.values()), len(wanted - present), len(present - wanted))


def referenced(connection: sqlite3.Connection) -> set[str]:
    """The hashes of contents that undo would need."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'file_versions'").fetchone():
        return set()
    rows = connection.execute("SELECT DISTINCT before_hash FROM file_versions WHERE lost = ''")
    return {row[0] for row in rows if row[0] is not None and _HASH.fullmatch(row[0])}


def mark_missing(connection: sqlite3.Connection, root: Path) -> int:
    """Note with each version whose content is missing that it is, so that undo tells; how many contents those are.

    Raises:
        sqlite3.Error: it could not be noted.
    """
    blobs = BlobStore(root)
    missing = [name for name in referenced(connection) if not blobs.has(name)]
    connection.executemany(
        "UPDATE file_versions SET lost = 'its content was missing when the database was repaired'"
        " WHERE before_hash = ? AND lost = ''",
        [(name,) for name in missing],
    )
    return len(missing)
