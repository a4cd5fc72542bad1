"""Editors for servers in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.acp_adapter.commands.talk import Talk
from tests.support.agent_end import RawClient, raw_client
from tests.support.editor import ZED, Editor
from tests.support.in_memory import EditorFactory, serving


@pytest.fixture
async def start(home: Path) -> AsyncIterator[EditorFactory]:
    """`await start()` starts a server in memory, behind its front door as in a process; all end with the test."""
    async with AsyncExitStack() as stack:

        async def start(*, check: bool = True) -> Editor:
            return await stack.enter_async_context(serving(home, front_door=True, check=check))

        yield start


@pytest.fixture
async def editor(home: Path) -> AsyncIterator[Editor]:
    async with serving(home) as made:
        await made.initialize(ZED)
        yield made


@pytest.fixture
def client() -> Iterator[RawClient]:
    with raw_client() as made:
        yield made


@pytest.fixture
async def talk(editor: Editor, home: Path, workspace: Path) -> Talk:
    return await Talk.begin(editor, home, workspace)
