"""`hermes-acp demo`: the agent finds, fixes and tests a bug, offline, over the real protocol."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from acp_adapter.cli.client.agent_process import SERVER
from acp_adapter.cli.client.approve import Approver
from acp_adapter.cli.client.client import AcpClient
from acp_adapter.cli.client.conversation import Opened, open_session, send_prompt
from acp_adapter.cli.client.errors import AgentRefused, ClientError
from acp_adapter.cli.client.transcript import Transcript
from acp_adapter.cli.demo_project import make_project, run_tests, script
from acp_adapter.cli.terminal.failing import drop_output, say_failed
from acp_adapter.cli.terminal.safe_text import safe_text
from acp_adapter.cli.terminal.style import Style, style_for
from tools.environments.temp_directories import own_directory

_SECONDS_FOR_THE_TURN = 120.0
_INTERRUPTED = 130
_DESCRIPTION = """\
Watch the agent find, fix and test a bug. A small project is made in a temporary directory, the server is started
as an editor starts it, and a scripted stand-in plays the model: no key, no network, nothing of yours is touched.
Everything else is real: the protocol, the tools, the permission questions (answered for you), the changed file.
"""


def main(argv: list[str]) -> int:
    """Run `hermes-acp demo` with the arguments `argv`.

    Returns:
        0 if the turn ended by itself and the project's tests pass after it, otherwise 1; 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        prog="hermes-acp demo",
        description=_DESCRIPTION,
        epilog="exit codes: 0 the bug is fixed, 1 something failed, 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.parse_args(argv)
    try:
        return run_demo((*SERVER, "--offline"), sys.stdout)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return 1


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
            say_failed("demo", _told(error))
            return 1
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
