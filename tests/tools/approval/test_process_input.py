"""What may be typed into a running program without asking."""

import pytest

from tools.approval.process_input import classify_input


@pytest.mark.parametrize(
    "data", ["y\n", "r\n", "w", "2\n", "my-project\n", "q", "\x03", "\r", "\x1b[A", "v1.2\n", "yes\r\n"]
)
def test_short_answers_and_keys_are_ordinary(data):
    assert classify_input(data).level in {"safe", "ordinary"}


@pytest.mark.parametrize("data", ["ls\tx", "echo hi\n", "make test\n", "./x\n", "x" * 65, "a;b", "import os\n"])
def test_anything_that_may_be_a_command_asks(data):
    found = classify_input(data)

    assert found.level == "dangerous"
    assert found.why == "types into a running program"


def test_what_is_dangerous_says_so_and_what_is_forbidden_stays_forbidden():
    assert classify_input("rm -rf src\n").why == "deletes directories with all that is in them"
    assert classify_input("reboot\n").level == "dangerous"
    assert classify_input("rm -rf /\n").level == "forbidden"
