"""Sub-agents, servers, programs and background commands at once, cancelled at any moment: nothing runs on.

`CHAOS_CANCELS` sets how many turns are cancelled, `CHAOS_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.chaos import ChaosRun, Setting
from tests.support.chaos_model import PROTOCOLS
from tests.support.chaos_person import EDITORS

SEED = os.environ.get("CHAOS_SEED", "9")
_TOOLS = {"terminal", "write_file", "delegate_task", "execute_code", "mcp__steady__echo", "mcp__flapping__do"}
_SHORT, _LONG = 6, int(os.environ.get("CHAOS_CANCELS", "200"))
_IN_A_SESSION = 10
_SETTINGS = tuple(
    (protocol, tuple(EDITORS)[(at + step) % len(EDITORS)])
    for step in range(len(EDITORS))
    for at, protocol in enumerate(PROTOCOLS)
)
"""Each protocol with each editor, none of them twice in a row."""


async def _run(
    editor: EditorFactory, home: Path, scratch: Path, workspace: Path, cancels: int, setting: Setting
) -> set[str]:
    """The names of tools of which a call was completed."""
    scratch.mkdir()
    async with ChaosRun.started(editor, home, scratch, workspace, setting) as run:
        while run.cancelled < cancels:
            await run.session(min(_IN_A_SESSION, cancels - run.cancelled))
    return run.done


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_some_cancels_at_any_moment(editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path) -> None:
    protocol, name = random.Random(SEED).choice(_SETTINGS)
    setting = Setting(SEED, protocol, name, (10, 30, 80))
    await _run(editor, home, tmp_path / "run", workspace, _SHORT, setting)


@pytest.mark.slow
@pytest.mark.timeout(300 + 60 * _LONG)
async def test_hundreds_of_cancels_at_any_moment(
    editor: EditorFactory, home: Path, tmp_path: Path, workspace: Path
) -> None:
    done: set[str] = set()
    parts = min(len(_SETTINGS), _LONG)
    for part, (protocol, name) in enumerate(_SETTINGS[:parts]):
        setting = Setting(f"{SEED}-{part}", protocol, name, (10, 40, 100, 250), 1000 * part)
        cancels = _LONG * (part + 1) // parts - _LONG * part // parts
        done |= await _run(editor, home, tmp_path / f"run-{part}", workspace, cancels, setting)
    assert done >= _TOOLS
