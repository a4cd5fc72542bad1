"""Random sequences of all that can be done with sessions, held against a model of what they should be.

`MODEL_SEED=N` repeats the run of that seed, which each failure names; `MODEL_RUNS` and `MODEL_STEPS` say how much
`make model` does; `MODEL_COUNTS` names a file for what was done.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.model.driver import run
from tests.model.invariants.remains import check_end
from tests.model.process import PROFILES, AgentProcess
from tests.model.told import ToldModel
from tests.model.world import World
from tests.support import mcp_plain_server
from tests.support.editor_files import EditorFiles
from tests.support.model_server import ModelServer
from tests.support.settings_files import use_model

_SEED = os.environ.get("MODEL_SEED", "")
_RUNS, _STEPS = int(os.environ.get("MODEL_RUNS", "50")), int(os.environ.get("MODEL_STEPS", "60"))
_COUNTS = os.environ.get("MODEL_COUNTS", "")
_LAST_ACTS = 30
_SERVER = Path(mcp_plain_server.__file__)


async def _live(seed: str, steps: int, home: Path, directory: Path) -> Counter[str]:
    """One run; how often each kind of step was done."""
    chance, model = random.Random(seed), ToldModel()
    directory.mkdir()
    (directory / "scratch").mkdir()
    with ModelServer(default=model.answer) as server:
        steady = {"command": sys.executable, "args": ["-IS", str(_SERVER), "plain"]}
        terminals = chance.random() < 0.3
        use_model(home, server, mcp_servers={"steady": steady}, editor={"terminals": terminals})
        profile = chance.choice(sorted(PROFILES))
        files = EditorFiles(renames=chance.random() < 0.3, makes_directories=chance.random() < 0.5)
        process = AgentProcess(home, directory / "scratch", profile, terminals, files)
        world = World(process, model, chance, directory)
        try:
            await run(world, steps)
            await check_end(world)
        except BaseException as failure:
            failure.add_note(f"MODEL_SEED={seed} MODEL_STEPS={steps} repeats it ({process.profile}). What was done:")
            failure.add_note("\n".join(world.acts[-_LAST_ACTS:]))
            await process.kill()
            raise
        finally:
            model.let_go()
    return Counter(world.counts)


async def test_a_few_steps_leave_what_they_should(home: Path, tmp_path: Path) -> None:
    await _live("tiny", 8, home, tmp_path / "run")


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_some_steps_leave_what_they_should(home: Path, tmp_path: Path) -> None:
    await _live(_SEED or "some", 60, home, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.timeout(120 + 30 * _STEPS)
@pytest.mark.parametrize("seed", [_SEED] if _SEED else [str(number) for number in range(_RUNS)])
async def test_many_steps_leave_what_they_should(seed: str, home: Path, tmp_path: Path) -> None:
    counts = await _live(seed, _STEPS, home, tmp_path / "run")
    _tell(seed, counts)


def _tell(seed: str, counts: Counter[str]) -> None:
    if _COUNTS:
        with Path(_COUNTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"seed": seed, **counts}) + "\n")
