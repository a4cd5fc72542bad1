"""What the tests of tests/tools/environments share."""

from __future__ import annotations

import pytest

from tests.support.shells import shells
from tools.environments import atomic_writes
from tools.environments.atomic_writes import open_by_steps


@pytest.fixture
def session(tmp_path):
    with shells(tmp_path) as session:
        yield session


@pytest.fixture(params=["as this system does it", "by steps"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by steps":
        monkeypatch.setattr(atomic_writes, "opener", lambda: open_by_steps)
