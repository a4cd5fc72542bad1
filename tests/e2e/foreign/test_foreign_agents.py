"""`hermes-acp prompt --agent` drives agents that are none of ours: of the TypeScript SDK, and of the Python SDK."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.e2e.foreign.programs import HERE, SERVER, run

pytestmark = [pytest.mark.long, pytest.mark.timeout(120)]


def prompt(agent: list[str], *flags: str, cwd: Path) -> str:
    ran = run(*SERVER, "prompt", "--agent", shlex.join(agent), *flags, "Hello there", cwd=cwd)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize(
    ("policy", "answer", "status"), [("all", "Go on (by --approve all)", "done"), ("none", "Leave it", "failed")]
)
def test_an_agent_of_the_typescript_sdk(node: str, workspace: Path, policy: str, answer: str, status: str) -> None:
    shown = prompt([node, str(HERE / "typescript_agent.mjs")], "--approve", policy, cwd=workspace)

    assert "Plan\n  [>] Echo\n" in shown
    assert f"-> {answer}" in shown
    assert f"[{status}, " in shown
    assert "\nYou **said** Hello there\n\n[end_turn, " in shown


def test_an_agent_of_the_python_sdk(workspace: Path) -> None:
    shown = prompt([sys.executable, str(HERE / "python_agent.py")], "--approve", "all", cwd=workspace)

    assert "? Allow other: Shout" in shown
    assert "\nselected: Hello there\n\n[end_turn, " in shown
