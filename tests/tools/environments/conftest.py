"""What the tests of tests/tools/environments share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.shells import shells
from tools.environments import atomic_writes


@pytest.fixture
def session(tmp_path):
    with shells(tmp_path) as session:
        yield session


@pytest.fixture(params=["as this system does it", "by steps"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "by steps":
        monkeypatch.setattr(atomic_writes, "BY_KERNEL", False)
    atomic_writes.opener.cache_clear()
    yield
    atomic_writes.opener.cache_clear()
