"""A pipe hides no failure: the model, the person and programs learn how each part of it has ended."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from tests.support.shells import shells
from tests.support.tool_context import ScriptedApprover, make_context, split_result
from tools.dispatch import dispatch
from tools.result import ShownOutput
from tools.shell.exit_codes import with_exit
from tools.toolsets import load_builtin_tools

HIDDEN = {
    "the last part hides it": ("(exit 3) | true", [3, 0]),
    "a part in the middle": ("true | (exit 4) | cat", [0, 4, 0]),
    "exit": ("false | true; exit 0", [1, 0]),
    "exit of a part before the last line": ("echo one\nfalse | cat", [1, 0]),
    "a comment behind it": ("false | cat # the end", [1, 0]),
    "a group": ("{ false | cat; }", [1, 0]),
    "a loop": ("for i in 1 2; do false | cat; done", [1, 0]),
    "a timed one": ("time false | cat", [1, 0]),
    "a here-document": ("cat <<'END' | (cat; exit 2) | cat\n| not a pipe\nEND", [0, 2, 0]),
    "after another directory": ("cd / && false | cat", [1, 0]),
    "complaints in it too": ("ls /nowhere-at-all |& cat", [2, 0]),
    "more than ASCII": ("printf 'größer…\\n' | (cat; exit 9) | cat", [0, 9, 0]),
}
SILENT = {
    "nothing failed": "true | cat",
    "its reader had enough": "yes | head -1",
    "an answer": "echo a | grep b | cat",
    "no pipe": "false",
    "only the last part": "true | (exit 3)",
    "another command came behind it": "false | cat; true",
    "or": "true || false",
    "in quotes": "echo 'a | b'",
}
UNTOUCHED = {
    "unfinished quotes": "false | echo 'a",
    "unfinished here-document": "cat <<END | cat\ntext",
    "a here-document whose end has a blank": "cat > a.md <<EOF\n| a | b |\nEOF ",
    "a here-document whose end is indented": "cat > a.md <<EOF\n| a | b |\n  EOF",
    "a shell without its exit": "enable -n exit; false | cat",
    "a line that goes on": "false | cat \\",
    "a shell that says what it does": "set -x; false | cat",
    "a shell that shows its lines": "set -v\nfalse | cat",
}


class Bench:
    def __init__(self, cwd, running):
        self.cwd, self.shells = cwd, running
        self.live = []

    def run(self, command):
        ctx = make_context(
            self.cwd, "default", ScriptedApprover(), terminal=self.shells.environment, progress=self.live.append
        )
        return dispatch("terminal", {"command": command}, replace(ctx, processes=self.shells.processes))


@pytest.fixture
def bench(tmp_path):
    load_builtin_tools()
    with shells(tmp_path) as running:
        yield Bench(tmp_path, running)


@pytest.mark.parametrize(("command", "statuses"), HIDDEN.values(), ids=HIDDEN)
def test_a_part_of_a_pipe_that_failed_is_a_fact(bench, command, statuses):
    result = bench.run(command)
    assert result.facts["exit_code"] == 0, result.text
    assert result.facts["pipe_statuses"] == statuses
    assert result.value()["pipe_statuses"] == statuses


@pytest.mark.parametrize("command", SILENT.values(), ids=SILENT)
def test_a_pipe_of_which_no_part_failed_is_not_remarked_on(bench, command):
    result = bench.run(command)
    assert "pipe_statuses" not in result.facts
    assert "of the pipe" not in result.text


def test_the_last_line_and_the_person_are_told_which_part_of_the_pipe_it_was(bench):
    result = bench.run("sh -c 'echo 1 failed; exit 1' | tail -3")
    output, line = split_result(result.text)
    assert output == "1 failed"
    assert line == "exit 0, but part 1 of the pipe (sh -c 'echo 1 failed; exit 1') exited 1"
    (shown,) = result.shown
    assert isinstance(shown, ShownOutput)
    assert shown.output == "1 failed\n[part 1 of the pipe (sh -c 'echo 1 failed; exit 1') exited 1]\n"
    assert "".join(bench.live) == shown.output


def test_the_pipe_that_ended_a_strict_script_is_told(bench):
    result = bench.run("set -e -o pipefail\n(exit 5) | cat\necho not reached")
    assert (result.facts["exit_code"], result.facts["pipe_statuses"]) == (5, [5, 0])
    assert split_result(result.text)[1].startswith("exit 5, part 1 of the pipe (")


def test_which_of_several_pipes_it_was_is_not_guessed(bench):
    assert "part 1 of the pipe exited 1" in bench.run("true | cat; false | cat").text


def test_a_command_with_a_pipe_leaves_its_directory_and_variables_and_exit_code(bench):
    (bench.cwd / "sub").mkdir()
    bench.run("cd sub; export A=1; false | true")
    assert split_result(bench.run("echo $A; pwd").text)[0] == f"1\n{bench.cwd}/sub"
    assert bench.run("trap 'echo bye' EXIT; false | (exit 6)").facts["exit_code"] == 6
    assert bench.run("exec sh -c 'false | true; exit 7'").facts["exit_code"] == 7
    assert bench.run("exit() { echo mine; }; false | true").facts["pipe_statuses"] == [1, 0]


@pytest.mark.parametrize("command", UNTOUCHED.values(), ids=UNTOUCHED)
def test_a_command_with_a_pipe_that_a_line_behind_it_could_change_is_left_as_it_is(command):
    assert with_exit(command) == command


@pytest.mark.skipif(shutil.which("dash") is None, reason="needs dash")
def test_a_shell_that_does_not_keep_the_statuses_of_a_pipe_works_as_ever(tmp_path):
    load_builtin_tools()
    with shells(tmp_path, shell=shutil.which("dash")) as running:
        result = Bench(tmp_path, running).run("echo a; false | true")
    assert result.text == "a\n[exit 0]"
    assert "pipe_statuses" not in result.facts
