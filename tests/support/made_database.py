"""A database that is made once and copied into each home: what makes one has tests of its own."""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path

from agent_core.home import Home
from agent_core.sessions.database import Database


def put_database(root: Path) -> None:
    """Put a database without sessions into a home that is there and has none."""
    place = Home(root).database
    if not root.is_dir() or place.exists():
        return
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_made())


@functools.cache
def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "made.db")
        with database.write():
            pass
        database.close()
        return database.path.read_bytes()
