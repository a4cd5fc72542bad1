"""What the tests of tests/agent_core/sessions share."""

from __future__ import annotations

import pytest

from tests.support.session_database import Desk


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/project")
    yield desk
    desk.close()
