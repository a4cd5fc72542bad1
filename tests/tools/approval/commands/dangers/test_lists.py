"""Commands by the hundred, a line each: those that ask, and those of everyday work that must not.

A line of `commands.txt` is how far a command reaches, the command, and all that is found in it, with ⇒ between.
GOLDEN_UPDATE=1 writes that anew, but for which of them ask; review what changed.
"""

import os
from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.commands import classify_command

PROJECT = Path("/home/dev/project")
LISTS = Path(__file__).with_name("commands.txt")
_ASK, _RUN = "ASK", "RUN"
_BETWEEN = " ⇒ "
_MANY = 40  # commands in one test: few tests to collect, and each soon over


def _listed(label):
    sections = LISTS.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return next(lines[1:] for lines in (each.split("\n") for each in sections) if lines[0] == label)


def _parts(*labels):
    lines = [line for label in labels for line in _listed(label)]
    return [pytest.param(lines[at : at + _MANY], id=f"from {at + 1}") for at in range(0, len(lines), _MANY)]


def _command(line):
    return line.split(_BETWEEN)[1]


def _judged(lines):
    return [(command, classify_command(command, PROJECT, (PROJECT,))) for command in map(_command, lines)]


@pytest.fixture(autouse=True)
def _a_persons_own_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/dev")
    monkeypatch.delenv("HERMES_HOME", raising=False)


@pytest.mark.parametrize("lines", _parts(_ASK))
def test_a_dangerous_command_asks_and_says_why(lines):
    found = _judged(lines)

    assert [command for command, each in found if each.level not in {"dangerous", "forbidden"}] == []
    assert [command for command, each in found if not (each.why and each.family)] == []


@pytest.mark.parametrize("lines", _parts(_RUN))
def test_an_everyday_command_runs_unasked(lines):
    assert [(command, each.why) for command, each in _judged(lines) if each.level not in {"safe", "ordinary"}] == []


def _told(line):
    ((command, found),) = _judged([line])
    told = [found.why] if found.why and not found.findings else []
    for one in found.findings:
        signs = " (outside)" * one.outside + " (undoable)" * one.undoable
        told.append(f"{one.level}, {one.family}: {one.why}{signs}")
    return _BETWEEN.join((found.level, command, *told))


@pytest.mark.skipif(os.environ.get("GOLDEN_UPDATE") == "1", reason="it is written anew")
@pytest.mark.parametrize("lines", _parts(_ASK, _RUN))
def test_all_that_is_found_in_a_command_is_what_it_was(lines):
    assert list(map(_told, lines)) == lines


@pytest.mark.skipif(os.environ.get("GOLDEN_UPDATE") != "1", reason="what is found stays as it is")
@pytest.mark.timeout(300)
def test_what_is_found_is_written_anew():
    sections = ("\n".join((label, *map(_told, _listed(label)))) for label in (_ASK, _RUN))
    LISTS.write_text("\n\n".join(sections) + "\n", encoding="utf-8")


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
    everything = [*map(_command, _listed(_ASK)), *map(_command, _listed(_RUN))]

    assert len(everything) == len(set(everything))
