"""`terminal` through dispatch, gate and policy, beside what the shell alone takes, in turns in one run."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import tools.process
import tools.terminal  # noqa: F401 - registers the tool
from benchmarks.in_turns import Pair, in_turns
from tests.support.shells import shells
from tests.support.tool_context import call, make_context
from tools.text.terminal_output import for_model

REPETITIONS = 100


def a_command(folder: Path) -> Pair:
    """Seconds of `terminal` with `true`, its shell's state kept, and of `bash -c true`; at most 3 ms more."""
    with shells(folder) as session:
        ctx = replace(make_context(folder, terminal=session.environment), processes=session.processes)

        def tool() -> None:
            assert not call(ctx, "terminal", command="true").failed

        return in_turns(tool, _bash, REPETITIONS)


def a_command_at_a_terminal(folder: Path) -> Pair:
    """Seconds of `terminal` with `true` at a pseudo-terminal, and of `bash -c true`."""
    with shells(folder) as session:
        ctx = replace(make_context(folder, terminal=session.environment), processes=session.processes)

        def tool() -> None:
            assert not call(ctx, "terminal", command="true", pty=True).failed

        return in_turns(tool, _bash, REPETITIONS)


def ten_megabytes(folder: Path) -> Pair:
    """Seconds of a command that prints 10 MB in lines of 80, all of it saved, and of reading its pipe to the end."""
    command = "yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678 | head -c 10000000"
    with shells(folder) as session:
        ctx = make_context(folder, "dont_ask", terminal=session.environment)
        ctx = replace(ctx, processes=session.processes, output_file=folder / "output.txt")

        def tool() -> None:
            assert not call(ctx, "terminal", command=command).failed

        return in_turns(tool, lambda: _bash(command), REPETITIONS // 10)


def a_progress_for_the_model(_folder: Path) -> Pair:
    """Seconds of making 50,000 characters of redrawn progress readable, and of copying them."""
    frames = "".join(f"\x1b[2K layer 1 {share:>3}%\n\x1b[2K layer 2 {share:>3}%\n\x1b[2A" for share in range(1200))
    text = frames[:50_000]
    return in_turns(lambda: for_model(text), lambda: "".join(list(text)), REPETITIONS)


def _bash(command: str = "true") -> object:
    return subprocess.run(
        ["bash", "-c", command],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
