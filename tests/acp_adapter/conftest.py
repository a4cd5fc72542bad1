"""Editors for servers in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.in_memory import EditorFactory, serving


@pytest.fixture
async def start(home: Path) -> AsyncIterator[EditorFactory]:
    """`await start()` starts a server in memory, behind its front door as in a process; all end with the test."""
    async with AsyncExitStack() as stack:

        async def start(*, check: bool = True) -> Editor:
            return await stack.enter_async_context(serving(home, front_door=True, check=check))

        yield start
