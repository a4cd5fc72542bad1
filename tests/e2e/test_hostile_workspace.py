"""A workspace that holds modules of our names changes nothing, wherever the process was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.waiting import PATIENCE

_NAMES = ("tools/__init__.py", "agent_core/__init__.py", "yaml.py", "acp.py", "json.py", "pydantic.py", "openai.py")


@pytest.fixture
def trap(workspace: Path) -> Path:
    for name in _NAMES:
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            "import os\nopen(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'SPRUNG'), 'w')\n1/0\n"
        )
    return workspace


@pytest.mark.parametrize(
    "command",
    [
        pytest.param((sys.executable, "-P", "-m", "acp_adapter"), marks=pytest.mark.slow),
        (str(Path(sys.executable).with_name("hermes-acp")),),
    ],
    ids=["module", "script"],
)
async def test_the_process_started_inside_it_works_and_loads_none_of_them(
    command: tuple[str, ...], editor: EditorFactory, trap: Path
) -> None:
    agent = await editor("--offline", command=command, cwd=trap)
    await agent.initialize()
    session = await agent.new_session(trap)
    answer = await agent.prompt(session, "read README.md\nrun echo fine\nsearch Sums\nsay done")
    assert answer["stopReason"] == "end_turn"
    assert not list(trap.rglob("SPRUNG"))


def test_a_python_path_that_names_the_working_directory_is_no_way_in(trap: Path) -> None:
    ended = subprocess.run(
        [str(Path(sys.executable).with_name("hermes-acp")), "--version"],
        cwd=trap,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    # Python itself loads nothing of the traps before main runs but what its own start needs.
    assert ended.returncode == 0, ended.stderr
    assert not (trap / "tools" / "SPRUNG").exists()
