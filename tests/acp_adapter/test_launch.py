"""Starting `hermes-acp setup` from a client: its arguments may follow the launch's own, or replace them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from acp_adapter.auth import setup_arguments, setup_command, without_repeated_launch
from tests.support.each import each

PYTHON = sys.executable
SCRIPT = str(Path(PYTHON).with_name("hermes-acp"))
GIVEN = ("--non-interactive", "--provider", "ollama", "--model", "qwen:7b", "--skip-test")


@pytest.mark.parametrize(
    "launch", [(PYTHON, "-P", "-m", "acp_adapter"), (PYTHON, "-X", "utf8", "-Pm", "acp_adapter")]
)
@pytest.mark.parametrize(
    "own", [("--profile", "work"), pytest.param(("--offline", "--profile=work"), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("replaced", [False, True])
def test_a_module_that_was_launched_runs_setup_either_way(
    launch: tuple[str, ...], own: tuple[str, ...], replaced: bool, home: Path
) -> None:
    whole = (*launch, *own)
    _check_setup_runs([PYTHON] if replaced else [*whole], setup_arguments(whole), home)


@pytest.mark.skipif(not Path(SCRIPT).exists(), reason="the console script is not installed")
@pytest.mark.parametrize("replaced", [False, True])
def test_the_console_script_runs_setup_either_way(replaced: bool, home: Path) -> None:
    arguments = setup_arguments((PYTHON, SCRIPT, "--verbose", "--profile", "work"))
    assert arguments == ["setup", "--profile", "work"]
    _check_setup_runs([SCRIPT] if replaced else [SCRIPT, "--verbose", "--profile", "work"], arguments, home)


def test_a_whole_command_runs_setup(home: Path) -> None:
    command = setup_command(PYTHON, (PYTHON, SCRIPT, "--profile", "work"))
    _check_setup_runs(command[:1], command[1:], home)


def _check_setup_runs(command: list[str], arguments: list[str], home: Path) -> None:
    ended = subprocess.run(
        [*command, *arguments, *GIVEN], capture_output=True, text=True, timeout=20, check=False, cwd="/"
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    written = yaml.safe_load((home / "profiles" / "work" / "config.yaml").read_text())
    assert written == {"model": {"provider": "ollama", "default": "qwen:7b"}}


@each(
    ("launch", "expected"),
    [
        ([PYTHON, SCRIPT], ["setup"]),
        ([PYTHON, SCRIPT, "acp"], ["setup"]),
        ([PYTHON, SCRIPT, "acp", "--profile", "x"], ["setup", "--profile", "x"]),
        ([PYTHON, "-P", "-m", "acp_adapter"], ["-P", "-m", "acp_adapter", "setup"]),
        (
            [PYTHON, "-m", "acp_adapter", "--profile=x", "--model", "m"],
            ["-m", "acp_adapter", "setup", "--profile", "x"],
        ),
        ([PYTHON, "-m", "pytest", "-x"], ["setup"]),
        ([PYTHON, "-c", "run()", "--profile", "x"], ["setup", "--profile", "x"]),
        ([PYTHON], ["setup"]),
        ([], ["setup"]),
    ],
)
def test_only_our_own_launch_is_repeated(launch: list[str], expected: list[str]) -> None:
    assert setup_arguments(launch) == expected


@each(
    ("arguments", "expected"),
    [
        (["setup", "--provider", "x"], ["setup", "--provider", "x"]),
        (["--offline", "setup"], ["setup"]),
        (["acp", "setup"], ["setup"]),
        (["acp", "--profile=a", "setup"], ["setup", "--profile", "a"]),
        (["acp", "-P", "-m", "acp_adapter", "setup"], ["setup"]),
        (["--profile", "a", "setup", "--profile", "b"], ["setup", "--profile", "a", "--profile", "b"]),
        (["--base-url=http://x", "-P", "-m", "acp_adapter", "setup"], ["setup"]),
        (["--model", "setup"], ["--model", "setup"]),
        (["--provider", "setup", "setup"], ["setup"]),
        (["prompt", "setup"], ["prompt", "setup"]),
        (["--nonsense", "setup"], ["--nonsense", "setup"]),
        (["-m", "other", "setup"], ["-m", "other", "setup"]),
        ([], []),
    ],
)
def test_only_a_repeated_launch_is_taken_off(arguments: list[str], expected: list[str]) -> None:
    assert without_repeated_launch(arguments) == expected
