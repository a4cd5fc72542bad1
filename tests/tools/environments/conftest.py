"""What the tests of tests/tools/environments share."""

from __future__ import annotations

import pytest

from tests.support.shells import shells


@pytest.fixture
def session(tmp_path):
    with shells(tmp_path) as session:
        yield session
