"""A database of stored conversations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.sessions.database import Database
from tests.support.talks import NOW, Talks


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "hermes-acp.db", clock=lambda: NOW)
    yield database
    database.close()


@pytest.fixture
def talks(database: Database) -> Talks:
    return Talks(database)
