"""Editors for whole processes, and for what is the same in memory and in a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource, Overrides
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.in_memory import OFFLINE, serving

EditorFactory = Callable[..., Awaitable[Editor]]


@pytest.fixture
async def editor(tmp_path: Path) -> AsyncIterator[EditorFactory]:
    """`await editor("--offline", …)` starts an agent in a directory that is no workspace; all end with the test."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with AsyncExitStack() as stack:

        async def start(*args: str, **options: Any) -> Editor:
            return await stack.enter_async_context(await Editor.spawn(*args, **{"cwd": elsewhere, **options}))

        yield start


@pytest.fixture(params=["in memory", pytest.param("process", marks=pytest.mark.slow)])
async def agent_in(request: pytest.FixtureRequest, home: Path, editor: EditorFactory) -> AsyncIterator[EditorFactory]:
    """`await agent_in("--offline")` starts an agent in memory; in the long tests, as a process of its own too."""
    if request.param == "process":
        yield editor
        return
    async with AsyncExitStack() as stack:

        async def start(*args: str) -> Editor:
            chosen = OFFLINE if "--offline" in args else Overrides()
            config = ConfigSource(Home(home), chosen)
            return await stack.enter_async_context(serving(home, config=config, front_door=True))

        yield start
