"""The programs in the pages for those who use the agent as a library do what those say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
_PROGRAM = re.compile(r"^<!-- runs -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page: str) -> list[str]:
    return _PROGRAM.findall((DOCS / page).read_text())


def run(program: str, where: Path) -> str:
    command = [sys.executable, "-W", "error", "-c", program]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(where), "PYTHONPATH": str(DOCS.parent)}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_an_agent_in_ten_lines(tmp_path: Path) -> None:
    first, _, _ = programs("library.md")
    assert len(first.splitlines()) <= 10
    assert run(first, tmp_path).strip() == "Hello."


def test_an_approver_of_ones_own_decides(tmp_path: Path) -> None:
    _, second, _ = programs("library.md")
    run(second, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "Remember the milk."


def test_listeners_hear_of_the_turn(tmp_path: Path) -> None:
    _, _, third = programs("library.md")
    said = run(third, tmp_path)
    assert "CallRequested" in said
    assert "end_turn" in said.splitlines()[-1]


def test_a_batch_runs_in_any_executor(tmp_path: Path) -> None:
    (program,) = programs("batch.md")
    run(program, tmp_path)
    assert '"status": "completed"' in (tmp_path / "runs" / "results.jsonl").read_text()


def test_the_package_loads_nothing_until_a_name_is_asked_for() -> None:
    program = "import sys, agent_core; print('agent_core.agent' in sys.modules, hasattr(agent_core, 'Nothing'))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=DOCS.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
