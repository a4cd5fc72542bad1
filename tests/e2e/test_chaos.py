"""Sub-agents, MCP servers, background commands and programs at once, cancelled at any moment: nothing runs on, nothing is
lost, everything ends.

`CHAOS_CANCELS` sets how many turns are cancelled, `CHAOS_SEED` repeats a run.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.chaos import ChaosRun
from tests.support.model_server import ModelServer

SEED = int(os.environ.get("CHAOS_SEED", "9"))
_SHORT, _LONG = 10, int(os.environ.get("CHAOS_CANCELS", "200"))


async def _run(editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path, cancels: int) -> None:
    async with ChaosRun.started(editor, home, tmp_path, workspace, SEED) as run:
        while run.cancelled < cancels:
            await run.session(min(10, cancels - run.cancelled))


async def test_ten_cancels_at_any_moment(
    editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path
) -> None:
    await _run(editor, home, tmp_path, workspace, _SHORT)


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * _LONG)
async def test_hundreds_of_cancels_at_any_moment(
    editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path
) -> None:
    await _run(editor, home, tmp_path, workspace, _LONG)
