"""How subcommands end, whatever becomes of their streams."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from acp_adapter.cli.main import run_command
from tests.support.each import each


def raising(problem):
    def run(_arguments):
        raise problem

    return run


def test_an_exit_code_is_passed_on():
    assert run_command("usage", len, ["a", "b"]) == 2


def test_ctrl_c_where_nothing_is_to_be_cancelled_is_no_traceback():
    assert run_command("prompt", raising(KeyboardInterrupt()), []) == 130


def test_output_that_has_no_room_is_told(capfd, monkeypatch):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdout", full)
        assert run_command("usage", lambda _arguments: sys.stdout.write("x") * 0, []) == 1
    assert capfd.readouterr().err == "hermes-acp usage: The output could not be written: No space left on device.\n"


@each("problem", [OSError(errno.EIO, "no", "/srv/file"), OSError(errno.ENOENT, "no")])
def test_other_problems_are_not_taken_for_those_of_the_output(problem):
    with pytest.raises(OSError, match="no"):
        run_command("usage", raising(problem), [])


def test_with_closed_streams_nothing_fails_and_no_file_gets_their_numbers():
    program = (
        "import os, sys; from acp_adapter.cli.main import run_command\n"
        "def run(arguments):\n"
        "    print(sys.stdin.read())\n"
        "    return min(os.open('/', 0), 9)\n"
        "sys.exit(run_command('prompt', run, []))"
    )
    closing = 'exec "$0" -c "$1" <&- >&- 2>&-'
    ended = subprocess.run(["sh", "-c", closing, sys.executable, program], check=False, env=dict(os.environ))
    assert 2 < ended.returncode < 10
