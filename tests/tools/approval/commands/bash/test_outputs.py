"""What a substitution or a pipe gets of what is printed, by whatever way it comes back."""

import pytest

from tests.support.each import each
from tools.approval.commands.bash import reading
from tools.approval.commands.bash.interpreter import read_command


def _programs(command):
    return [
        " ".join([one.program, *(word.text for word in one.arguments)]) for one in read_command(command).invocations
    ]


@each(
    "command",
    [
        'eval "$(<x)"',
        'eval "`<x`"',
        'bash -c "$( < x )"',
        'eval "$(0<x)"',
        'x=$(<x); eval "$x"',
        'eval "$(true; <x)"',
    ],
)
def test_a_file_that_a_substitution_reads_is_not_an_empty_text(command):
    assert [doubt.why for doubt in read_command(command).doubts] == [reading.UNKNOWN_TEXT]


@each(
    "command",
    [
        'eval "$(cat x &)"',
        'eval "$(cat x & wait)"',
        'eval "$(cat x > /dev/stdout)"',
        'eval "$(cat x > /dev/fd/1)"',
        'eval "$(cat x &> /proc/self/fd/1)"',
        'eval "$(cat x > >(cat))"',
        'eval "$(cat x 3>&1 >&3)"',
        'eval "$({ cat x >&3; } 3>&1)"',
        'eval "$({ echo a; cat x >&2; } 2>&1)"',
        'f() { cat x >&2; echo a; }; eval "$(f 2>&1)"',
        "eval \"$(sh -c 'echo a; cat x >&2' 2>&1)\"",
        "eval \"$(trap 'cat x' EXIT)\"",
    ],
)
def test_what_comes_back_to_the_output_in_another_way_is_not_nothing(command):
    assert reading.UNKNOWN_TEXT in {doubt.why for doubt in read_command(command).doubts}


@pytest.mark.parametrize("command", ["{ echo a; cat x >&2; } |& sh", "f() { cat x >&2; echo a; }; f 2>&1 | sh"])
def test_complaints_go_through_a_pipe_that_takes_them(command):
    assert [one.input.kind for one in read_command(command).invocations if one.program == "sh"] == ["command"]


@pytest.mark.parametrize("end", ["2>&1", "2> /dev/null", "3>&1"])
def test_what_complains_about_nothing_is_still_known(end):
    assert "rm -rf x" in _programs(f'eval "$(echo rm -rf x {end})"')


def test_a_substitution_that_reads_what_is_known_gives_it():
    assert "rm -rf x" in _programs('eval "$(< <(echo rm -rf x))"')
