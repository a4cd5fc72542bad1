"""`hermes-acp demo`: its project, its story, and its verdict."""

import io
import subprocess

import pytest

from acp_adapter.cli.demo import make_project, run_demo, run_tests, script
from tests.support.scripted import agent_command
from tests.support.subcommands import start_of
from tests.support.terminal import Terminal

MAIN = start_of("demo")


def test_the_projects_tests_fail_for_the_bug_alone(tmp_path):
    make_project(tmp_path)
    done = run_tests(tmp_path)
    assert done.returncode == 1
    assert "Ran 2 tests" in done.stderr
    assert "FAILED (failures=1)" in done.stderr


def test_the_scripts_edit_repairs_the_project(tmp_path):
    make_project(tmp_path)
    (edit,) = [line for line in script().splitlines() if line.startswith("edit ")]
    _, path, change = edit.split(" ", 2)
    old, new = change.split(" => ")
    source = (tmp_path / path).read_text()
    assert source.count(old) == 1
    (tmp_path / path).write_text(source.replace(old, new))
    assert run_tests(tmp_path).returncode == 0


@pytest.mark.parametrize("steps", [["text=All fine, trust me."], ["stop=refusal"], ["die=3"], ['error={"code": 1}']])
def test_an_agent_that_leaves_the_bug_exits_with_one(steps):
    assert run_demo(agent_command(*steps), io.StringIO()) == 1


def test_a_turn_that_ends_well_without_the_fix_is_said_not_to_have_fixed_it():
    out = io.StringIO()
    run_demo(agent_command("text=Done."), out)
    assert "The bug is not fixed: the turn ended with end_turn, the tests with exit code 1." in out.getvalue()


def test_help_says_what_it_does():
    done = subprocess.run([*MAIN, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "hermes-acp demo" in done.stdout


def test_the_demo_repairs_the_project_with_the_real_server_and_tells_the_whole_story():
    done = subprocess.run(MAIN, capture_output=True, text=True, check=False, timeout=50)
    out = done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert "The bug is fixed." in out
    assert out.isascii()
    assert "\x1b" not in out
    story = [
        "  x execute",
        "failed, exit 1",
        "Plan",
        "  + search",
        "  + read",
        "-    return sum(prices) - discount_percent",
        "+    return sum(prices) * (1 - discount_percent / 100)",
        "? Allow edit",
        "by the demo",
        "  + edit",
        "basket.py:6",
        "  + execute",
        "[x] Run the tests again",
        "Fixed:",
        "[end_turn]",
        "initialize",
    ]
    position = 0
    for part in story:
        assert part in out[position:], f"{part!r} does not come after {out[:position]!r}"
        if part != "basket.py:6":
            position = out.index(part, position)


@pytest.mark.slow
def test_the_demo_is_in_colour_at_a_terminal():
    with Terminal(MAIN) as terminal:
        assert terminal.end() == 0
        assert "\x1b[32m" in terminal.text


@pytest.mark.long
def test_a_reader_that_leaves_is_no_error():
    with subprocess.Popen(start_of("demo"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        run.stdout.close()
        assert run.stderr is not None
        assert run.stderr.read() == b""
        assert run.wait() == 1
