"""Commands by the hundred, a line each: those that ask, and those of everyday work that must not."""

from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands import classify_command

PROJECT = Path("/home/dev/project")
HERE = Path(__file__).parent


def _lines(name):
    return HERE.joinpath(name).read_text(encoding="utf-8").splitlines()


@pytest.fixture(autouse=True)
def _a_persons_own_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.delenv("HERMES_HOME", raising=False)


def test_a_dangerous_command_asks_and_says_why():
    found = [
        (command, classify_command(command, PROJECT, (PROJECT,))) for command in _lines("dangerous_commands.txt")
    ]

    assert [command for command, each in found if each.level not in {"dangerous", "forbidden"}] == []
    assert [command for command, each in found if not (each.why and each.family)] == []


def test_an_everyday_command_runs_unasked():
    found = [(command, classify_command(command, PROJECT, (PROJECT,))) for command in _lines("everyday_commands.txt")]

    assert [(command, each.why) for command, each in found if each.level not in {"safe", "ordinary"}] == []


@each(
    "command",
    [
        "sh << EOF\nrm file\nEOF",
        "cat > x.sh <<EOF && bash x.sh\nrm -rf y\nEOF",
        "python3 - <<EOF\nimport shutil; shutil.rmtree('x')\nEOF",
        "mysql <<EOF\nDROP TABLE x;\nEOF",
        "rm \\\n -rf x",
        "ls\nrm x",
    ],
)
def test_commands_of_several_lines_ask(command):
    assert classify_command(command, PROJECT, (PROJECT,)).level == "dangerous"


@each(
    "command",
    [
        "cat <<'EOF' > README.md\nrm -rf / is bad\nsudo reboot\nEOF",
        "cat > Makefile <<'EOF'\nclean:\n\trm -rf build\nEOF",
        "tee script.sh <<'EOF' >/dev/null\nkill -9 1\nEOF",
        "python - <<'EOF'\nprint('drop table x')\nEOF",
        "git commit -m \"$(cat <<'EOF'\nrm -rf / no more\nEOF\n)\"",
    ],
)
def test_text_of_several_lines_that_is_only_data_does_not(command):
    assert classify_command(command, PROJECT, (PROJECT,)).level in {"safe", "ordinary"}


def test_the_lists_hold_no_command_twice():
    everything = [*_lines("dangerous_commands.txt"), *_lines("everyday_commands.txt")]

    assert len(everything) == len(set(everything))
