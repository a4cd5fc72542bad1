"""What the tests of tests/agent_core/sessions/archive share."""

from __future__ import annotations

import pytest

from tests.support.stored_sessions import database_at


@pytest.fixture
def database(tmp_path):
    database = database_at(tmp_path)
    yield database
    database.close()
