"""`hermes-acp prompt --wait-background`, as a real process with our own server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.subcommands import start_of

MAIN = start_of("prompt")


def _begin(command: str, *, notify: bool = True) -> str:
    return f"call terminal {json.dumps({'command': command, 'background': True, 'notify_on_complete': notify})}"


def _run(workspace: Path, prompt: str, *flags: str) -> tuple[int, str, str]:
    words = [*MAIN, "--offline", "--approve", "all", "--cwd", str(workspace), *flags, prompt]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=50)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.long
def test_it_waits_for_what_tells_of_its_end_and_for_the_turn_about_that(home: Path, workspace: Path) -> None:
    begin = f"{_begin('sleep 1; exit 3')}\n{_begin('sleep 1000', notify=False)}"
    code, out, _ = _run(
        workspace, f"{begin}\nsay Begun.\non news\nrun echo looked\nsay I saw it.", "--wait-background"
    )

    assert code == 0
    assert out.index("Begun.") < out.index("waiting for what runs in the background") < out.index("exit code 3")
    assert "I saw it." in out


@pytest.mark.long
def test_without_it_the_turn_is_all(home: Path, workspace: Path) -> None:
    code, out, _ = _run(workspace, f"{_begin('sleep 1000')}\nsay Begun.\non news\nsay I saw it.")

    assert code == 0
    assert "I saw it." not in out


@pytest.mark.long
def test_the_time_limit_holds_for_the_waiting_too(home: Path, workspace: Path) -> None:
    code, _, err = _run(workspace, f"{_begin('sleep 1000')}\nsay Begun.", "--wait-background", "--timeout", "4")

    assert code == 1
    assert "stopped after 4 s" in err
