"""Editors for the requirements: in memory, and over a process where it is the process that is required of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PLAIN, Editor
from tests.support.in_memory import serving

Started = Callable[..., Awaitable[Editor]]


@pytest.fixture
async def started(home: Path) -> AsyncIterator[Started]:
    """`await started(profile)` is an editor that has sent initialize."""
    async with AsyncExitStack() as stack:

        async def start(profile: dict[str, Any] = PLAIN) -> Editor:
            editor = await stack.enter_async_context(serving(home, front_door=True))
            await editor.initialize(profile)
            return editor

        yield start


@pytest.fixture
async def process(tmp_path: Path, home: Path) -> AsyncIterator[Editor]:
    """A whole process with the offline model, nothing said yet."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with await Editor.spawn("--offline", home=home, cwd=elsewhere) as editor:
        yield editor
