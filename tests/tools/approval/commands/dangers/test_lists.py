"""Commands by the hundred, a line each: those that ask, and those of everyday work that must not.

`what_is_found.txt` has all that is found in each. GOLDEN_UPDATE=1 writes it anew; review what changed.
"""

import os
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands import classify_command

PROJECT = Path("/home/dev/project")
HERE = Path(__file__).parent
DANGEROUS, EVERYDAY, FOUND = "dangerous_commands.txt", "everyday_commands.txt", "what_is_found.txt"
_MANY = 40  # commands in one test: few tests to collect, and each soon over


def _lines(name):
    return HERE.joinpath(name).read_text(encoding="utf-8").splitlines()


def _parts(*names):
    lines = [line for name in names for line in _lines(name)]
    return [pytest.param(lines[at : at + _MANY], id=f"from {at + 1}") for at in range(0, len(lines), _MANY)]


@pytest.fixture(autouse=True)
def _a_persons_own_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.delenv("HERMES_HOME", raising=False)


@pytest.mark.parametrize("commands", _parts(DANGEROUS))
def test_a_dangerous_command_asks_and_says_why(commands):
    found = [(command, classify_command(command, PROJECT, (PROJECT,))) for command in commands]

    assert [command for command, each in found if each.level not in {"dangerous", "forbidden"}] == []
    assert [command for command, each in found if not (each.why and each.family)] == []


@pytest.mark.parametrize("commands", _parts(EVERYDAY))
def test_an_everyday_command_runs_unasked(commands):
    found = [(command, classify_command(command, PROJECT, (PROJECT,))) for command in commands]

    assert [(command, each.why) for command, each in found if each.level not in {"safe", "ordinary"}] == []


def _told(command):
    found = classify_command(command, PROJECT, (PROJECT,))
    lines = [f"    {found.why}"] if found.why and not found.findings else []
    for one in found.findings:
        signs = " (outside)" * one.outside + " (undoable)" * one.undoable
        lines.append(f"    {one.level}, {one.family}: {one.why}{signs}")
    return "\n".join((f"{found.level}: {command}", *lines))


@pytest.mark.skipif(os.environ.get("GOLDEN_UPDATE") == "1", reason="it is written anew")
@pytest.mark.parametrize("commands", _parts(DANGEROUS, EVERYDAY))
def test_all_that_is_found_in_a_command_is_what_it_was(commands):
    known = set(HERE.joinpath(FOUND).read_text(encoding="utf-8").split("\n\n"))

    assert [told for told in map(_told, commands) if told not in known] == []


def test_what_is_found_is_kept_for_each_command_and_no_other():
    everything = [*_lines(DANGEROUS), *_lines(EVERYDAY)]
    if os.environ.get("GOLDEN_UPDATE") == "1":
        HERE.joinpath(FOUND).write_text("\n\n".join((*map(_told, everything), "")), encoding="utf-8")

    kept = HERE.joinpath(FOUND).read_text(encoding="utf-8").split("\n\n")
    assert [block.partition("\n")[0].partition(": ")[2] for block in kept[:-1]] == everything


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
    everything = [*_lines(DANGEROUS), *_lines(EVERYDAY)]

    assert len(everything) == len(set(everything))
