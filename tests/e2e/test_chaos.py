"""Sub-agents, servers, programs and background commands at once, cancelled at any moment: nothing runs on.

`CHAOS_CANCELS` sets how many turns are cancelled, `CHAOS_SEED` repeats a run.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.chaos import ChaosRun

SEED = int(os.environ.get("CHAOS_SEED", "9"))
_TOOLS = {"terminal", "write_file", "delegate_task", "execute_code", "mcp__steady__echo", "mcp__flapping__do"}
_SHORT, _LONG = 10, int(os.environ.get("CHAOS_CANCELS", "200"))


async def _run(
    editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path, cancels: int, *frames: int
) -> set[str]:
    """The names of tools of which a call was completed."""
    async with ChaosRun.started(editor, home, tmp_path, workspace, SEED, frames) as run:
        while run.cancelled < cancels:
            await run.session(min(10, cancels - run.cancelled))
    return run.done


@pytest.mark.long
async def test_ten_cancels_at_any_moment(editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path) -> None:
    await _run(editor, home, tmp_path, workspace, _SHORT, 10, 30, 80)


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * _LONG)
async def test_hundreds_of_cancels_at_any_moment(
    editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path
) -> None:
    done = await _run(editor, home, tmp_path, workspace, _LONG, 10, 40, 100, 250)
    assert done >= _TOOLS
