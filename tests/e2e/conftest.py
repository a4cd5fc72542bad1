"""Editors for whole processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor

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
