"""`hermes-acp demo`: the agent finds, fixes and tests a bug, offline, over the real protocol."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from acp_adapter.cli.acp_client import SERVER, AcpClient, AgentRefused, ClientError, Opened, open_session, send_prompt
from acp_adapter.cli.console import Style, style_for
from acp_adapter.cli.main import command_parser, say_failed
from acp_adapter.cli.questions import Approver
from acp_adapter.cli.transcript import Transcript
from acp_adapter.format import safe_text
from tools.environments.child_env import bare_environment
from tools.environments.temp_directories import own_directory

# The project: a module with a bug, a test that fails because of it, and the steps that find and fix it.

_MODULE = '''\
"""What a basket of goods costs."""


def total(prices: list[float], discount_percent: float = 0) -> float:
    """The sum of the prices, less the discount."""
    return sum(prices) - discount_percent
'''

_TEST = '''\
"""What `basket` promises."""

import unittest

from basket import total


class TotalTest(unittest.TestCase):
    def test_without_a_discount_it_is_the_sum(self) -> None:
        self.assertEqual(total([10, 30]), 40)

    def test_a_discount_takes_its_percentage_off(self) -> None:
        self.assertEqual(total([10, 30], discount_percent=25), 30)
'''

_STEPS = ("Find the bug", "Fix the discount", "Run the tests again")
_TEST_COMMAND = (sys.executable, "-m", "unittest", "-q")


def make_project(directory: Path) -> None:
    """Write the project's files into `directory`."""
    (directory / "basket.py").write_text(_MODULE)
    (directory / "test_basket.py").write_text(_TEST)


def run_tests(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the project's tests in a process of their own."""
    return subprocess.run(
        _TEST_COMMAND,
        cwd=directory,
        env=bare_environment(os.environ),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def script() -> str:
    """The prompt for the offline provider, a step a line."""
    test = shlex.join(_TEST_COMMAND)
    return f"""\
think A test of this project fails. I run it first, to see how.
run {test}
say The discount is wrong: 25 percent off 40 should be 30. I look for where it is taken off.
{_plan(done=0)}
search discount_percent
parallel
read basket.py
read test_basket.py
end
say `total` subtracts the percentage as if it were an amount. It has to be taken of the sum.
{_plan(done=1)}
edit basket.py sum(prices) - discount_percent => sum(prices) * (1 - discount_percent / 100)
{_plan(done=2)}
run {test}
{_plan(done=3)}
say Fixed: `total` in basket.py now takes the discount as a percentage of the sum, and both tests pass.
"""


def _plan(done: int) -> str:
    todos = [
        {
            "id": str(number + 1),
            "content": step,
            "status": "completed" if number < done else "in_progress" if number == done else "pending",
        }
        for number, step in enumerate(_STEPS)
    ]
    return f"call todo {json.dumps({'todos': todos})}"


_SECONDS_FOR_THE_TURN = 120.0
_DESCRIPTION = """\
Watch the agent find, fix and test a bug. A small project is made in a temporary directory, the server is started
as an editor starts it, and a scripted stand-in plays the model: no key, no network, nothing of yours is touched.
Everything else is real: the protocol, the tools, the permission questions (answered for you), the changed file.
"""
_EPILOG = "exit codes: 0 the bug is fixed, 1 something failed, 130 interrupted"


def main(argv: list[str]) -> int:
    """Run `hermes-acp demo` with the arguments `argv`.

    Returns:
        0 if the turn ended by itself and the project's tests pass after it, otherwise 1.
    """
    command_parser("demo", _DESCRIPTION, _EPILOG).parse_args(argv)
    return run_demo((*SERVER, "--offline"), sys.stdout)


def run_demo(command: Sequence[str], out: TextIO) -> int:
    """Let the agent that `command` starts repair a new project, and tell `out` about it."""
    with own_directory("hermes-demo-") as base:
        project, home = base / "project", base / "home"
        project.mkdir()
        home.mkdir()
        make_project(project)
        transcript = Transcript(out, style_for(out), project, Approver("all", project, name="the demo"))
        transcript.heading("A project with a bug: basket.py, test_basket.py")
        try:
            stop_reason = _turn(command, project, home, transcript)
        except ClientError as error:
            transcript.end_line()
            return say_failed("demo", _told(error))
        return _verdict(stop_reason, project, out, style_for(out))


def _turn(command: Sequence[str], project: Path, home: Path, transcript: Transcript) -> str:
    with AcpClient(command, transcript, env=_environment(home)) as client:
        opened = open_session(client, project, "hermes-acp demo")
        stop_reason = send_prompt(client, opened.session_id, script(), _SECONDS_FOR_THE_TURN)
        transcript.note(f"[{stop_reason}]  {_timings(opened, transcript, client.now())}")
    return stop_reason


def _environment(home: Path) -> Mapping[str, str]:
    """Ours without what configures the agent, so that the demo is the same everywhere."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HERMES_")}
    return {**kept, "HERMES_HOME": str(home)}


def _timings(opened: Opened, transcript: Transcript, total: float) -> str:
    marks = [
        ("initialize", opened.initialized_at),
        ("session/new", opened.opened_at),
        ("first text", transcript.first_text),
        ("end", total),
    ]
    return "since the start: " + ", ".join(f"{name} {t * 1000:.0f} ms" for name, t in marks if t is not None)


def _verdict(stop_reason: str, project: Path, out: TextIO, style: Style) -> int:
    tests = run_tests(project)
    fixed = stop_reason == "end_turn" and tests.returncode == 0
    out.write(f"\n{style.paint('The project tests itself, without the agent', 'bold')}\n")
    report = safe_text(tests.stderr + tests.stdout).strip().splitlines()
    out.writelines(f"  {style.paint(line, 'dim')}".rstrip() + "\n" for line in report)
    if fixed:
        verdict = style.paint("The bug is fixed.", "green", "bold")
    else:
        verdict = style.paint(
            f"The bug is not fixed: the turn ended with {stop_reason}, the tests with exit code {tests.returncode}.",
            "red",
            "bold",
        )
    out.write(f"{verdict}\n")
    out.flush()
    return 0 if fixed else 1


def _told(error: ClientError) -> str:
    if isinstance(error, AgentRefused):
        return " ".join(part for part in (f"{error.method} failed:", str(error), error.details) if part)
    return str(error)
