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
        missing, damaged: referred to, but not there, or not what they were.
        unreferenced: there, but nothing refers to them; they are removed in time.
        unreadable: why the directory could not be read; '' if it could. The other numbers say nothing then.
    """

    present: int = 0
    size: int = 0
    missing: int = 0
    damaged: int = 0
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
    present, blobs = sizes.keys(), BlobStore(root)
    return BlobFacts(
        len(sizes),
        sum(sizes.values()),
        missing=len(wanted - present),
        damaged=sum(blobs.is_damaged(name) for name in wanted & present),
        unreferenced=len(present - wanted),
    )


def referenced(connection: sqlite3.Connection) -> set[str]:
    """The hashes of contents that undo would need."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'file_versions'").fetchone():
        return set()
    rows = connection.execute("SELECT DISTINCT before_hash FROM file_versions WHERE lost = ''")
    return {row[0] for row in rows if row[0] is not None and _HASH.fullmatch(row[0])}


def mark_lost(connection: sqlite3.Connection, root: Path) -> None:
    """Note with each version whose content is missing or damaged that it is, so that undo tells.

    What is damaged is kept under another name, so that the same content can be kept anew.

    Raises:
        sqlite3.Error: it could not be noted. OSError: a damaged content could not be renamed.
    """
    blobs = BlobStore(root)
    for name in referenced(connection):
        if not blobs.has(name):
            lost = "its content was missing when the database was repaired"
        elif blobs.is_damaged(name):
            blobs.set_aside(name)
            lost = "its content was damaged when the database was repaired"
        else:
            continue
        connection.execute("UPDATE file_versions SET lost = ? WHERE before_hash = ? AND lost = ''", (lost, name))
