"""What may be typed into a running program without asking."""

from pathlib import Path

import pytest

from tests.support.each import each
from tools.approval.policy import classify_input, reads_commands


@each("data", ["y\n", "r\n", "w", "2\n", "my-project\n", "q", "\x03", "\r", "\x1b[A", "v1.2\n", "yes\r\n"])
def test_short_answers_and_keys_are_ordinary(data):
    assert classify_input(data).level in {"safe", "ordinary"}


@each("data", ["ls\tx", "echo hi\n", "make test\n", "./x\n", "x" * 65, "a;b", "import os\n"])
def test_anything_that_may_be_a_command_asks(data):
    found = classify_input(data)

    assert found.level == "dangerous"
    assert found.why == "types into a running program"


def test_an_answer_has_up_to_64_letters():
    assert classify_input("x" * 64 + "\n").level == "ordinary"


def test_at_a_prompt_what_is_dangerous_says_so_too():
    assert classify_input("rm -rf src\n", at_prompt=True).why == "deletes directories with all that is in them"
    assert classify_input("make\n", at_prompt=True).why == "types into a running program"
    assert classify_input(" \t", at_prompt=True).why == "types into a running program"


def test_what_is_dangerous_says_so_and_what_is_forbidden_stays_forbidden():
    assert classify_input("rm -rf src\n").why == "deletes directories with all that is in them"
    assert classify_input("reboot\n").level == "dangerous"
    assert classify_input("rm -rf /\n").level == "forbidden"


@each("command", ["bash", "bash -i", "exec sh", "python3 -i", "sudo -s", "ssh host", "psql"])
@each(("data", "asks"), [("make\n", True), ("\x1b[A\r", True), ("\x03", False), ("y\n", False)])
def test_a_word_at_a_prompt_for_commands_is_a_command(command, data, asks):
    at_prompt = reads_commands(command, Path("/srv/project"))
    assert at_prompt
    assert (classify_input(data, at_prompt=at_prompt).level == "dangerous") is asks


@pytest.mark.parametrize("command", ["python3 ask.py", "bash setup.sh", "npm init", "read x"])
def test_a_program_that_asks_gets_its_answer(command):
    assert not reads_commands(command, Path("/srv/project"))


def test_a_command_that_no_sandbox_holds_reads_commands_as_far_as_its_directory_tells():
    assert reads_commands("touch ../x", Path("/srv/project"))
    assert not reads_commands("touch ../x", Path("/tmp/project"))
