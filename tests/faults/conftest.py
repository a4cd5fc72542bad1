"""A stage for agents with faults."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.faults.stage import Stage


@pytest.fixture
async def stage(home: Path, workspace: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    async with AsyncExitStack() as stack:
        yield Stage(home, workspace, scratch, stack)
