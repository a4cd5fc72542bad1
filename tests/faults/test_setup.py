"""kill -9 while `hermes-acp setup` writes: each file is the old or the new one, and setup again finishes it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.faults.fault import Fault, write_plan

_ARGUMENTS = "setup --non-interactive --skip-test --provider custom --base-url http://127.0.0.1:9/v1 --model new"
_CALLER = "tools.locked_file"
_POINTS = {
    "before the first rename": Fault("os.replace", caller=_CALLER),
    "after the first rename": Fault("os.replace", when="after", caller=_CALLER),
    "after the second rename": Fault("os.replace", when="after", nth=2, caller=_CALLER),
    "while it is written to the disk": Fault("os.fsync", caller=_CALLER),
}


def _set_up(home: Path, *command: str) -> int:
    words = (sys.executable, "-P", "-m", *command, *_ARGUMENTS.split(), "--key-env", "A_KEY")
    environment = {**os.environ, "HERMES_HOME": str(home), "A_KEY": "a-new-key"}
    return subprocess.run(words, env=environment, cwd=home, capture_output=True, check=False).returncode


@pytest.mark.long
@pytest.mark.parametrize("point", _POINTS)
async def test_a_setup_that_is_killed_leaves_whole_files_and_can_be_repeated(
    home: Path, tmp_path: Path, point: str
) -> None:
    config, keys = home / "config.yaml", home / ".env"
    config.write_text("model:\n  default: old\n")
    keys.write_text("OTHER=1\n")
    plan = tmp_path / "plan.json"
    write_plan(plan, [_POINTS[point]])
    assert await asyncio.to_thread(_set_up, home, "tests.faults.launcher", str(plan)) == -9
    assert yaml.safe_load(config.read_text())["model"]["default"] in {"old", "new"}
    assert "OTHER=1" in keys.read_text()
    left = list(home.glob("*.tmp"))
    for path in left:
        os.utime(path, (1, 1))
    assert await asyncio.to_thread(_set_up, home, "acp_adapter") == 0
    assert yaml.safe_load(config.read_text())["model"]["default"] == "new"
    assert "a-new-key" in keys.read_text()
    assert [path for path in left if path.exists()] == []
