"""No text makes the classifier raise or take long, and no way of writing a dangerous command makes it harmless."""

import functools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.support import command_corpus as corpus
from tests.support.command_mutations import MUTATIONS
from tests.support.each import each
from tools.approval.commands import classify_command, detect_dangerous_command

pytestmark = pytest.mark.long

LEVELS = ("safe", "ordinary", "dangerous", "forbidden")
ENTRIES = corpus.load()
DANGERS = tuple(entry.command for entry in ENTRIES if entry.label in {"dangerous", "forbidden"})
HARMLESS = tuple(
    entry.command for entry in ENTRIES if entry.label in {"safe", "ordinary"} and "\n" not in entry.command
)
PIECES = (
    "rm", "-rf", "/", "~", " ", " ", "\n", ";", "&", "|", "&&", "||", "(", ")", "{", "}", "$(", "`", '"', "'", "\\",
    "$", "${", "$((", "<<", "<<<", "<<'E'", "E", ">", ">&", "<(", "[[", "]]", "if", "then", "fi", "for", "in", "do",
    "done", "case", "esac", "eval", "sh", "-c", "sudo", "xargs", "x=", "$x", "${x:-", "!", "*", "?", "#", "$'\\x",
    "é", "\0", "\r", "\t", "\ufffc", "\ud800",
)  # fmt: skip
QUICK = settings(max_examples=80, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG = settings(QUICK, max_examples=6000)

shell_texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
cut_commands = st.builds(
    lambda command, start, end: command[start : len(command) - end],
    st.sampled_from([entry.command for entry in ENTRIES]), st.integers(0, 30), st.integers(0, 30),
)  # fmt: skip
mutations = st.lists(st.sampled_from(sorted(MUTATIONS)), min_size=1, max_size=3)


@pytest.fixture(autouse=True, scope="module")
def _home():
    with corpus.at_home():
        yield


@QUICK
@given(st.one_of(shell_texts, cut_commands, st.text(max_size=80)))
def test_no_text_makes_it_raise(text):
    assert _level(text) in LEVELS
    assert detect_dangerous_command(text)[0] in {True, False}


@pytest.mark.slow
@pytest.mark.timeout(600)
@LONG
@given(st.one_of(shell_texts, cut_commands, st.text(max_size=80)))
def test_no_text_makes_it_raise_in_many_tries(text):
    assert _level(text) in LEVELS


@QUICK
@given(st.sampled_from(DANGERS), mutations)
def test_a_dangerous_command_stays_dangerous_however_it_is_written(command, names):
    _stays_dangerous(command, names)


@pytest.mark.slow
@pytest.mark.timeout(600)
@LONG
@given(st.sampled_from(DANGERS), mutations)
def test_a_dangerous_command_stays_dangerous_in_many_ways(command, names):
    _stays_dangerous(command, names)


@QUICK
@given(
    st.sampled_from(DANGERS), st.sampled_from(HARMLESS), st.sampled_from(("\n", "; ", " && ", " || ", " & ", " | "))
)
def test_a_harmless_command_beside_it_makes_no_dangerous_one_harmless(danger, harmless, between):
    assume("<<" not in danger and not danger.startswith("#") and "#" not in harmless)
    # Behind a pipe, what its first command sets is lost to the others.
    assume(between != " | " or not danger.startswith(("cd ", "IFS=", "V=")))
    assume(_level(danger) in {"dangerous", "forbidden"})
    assert _level(f"{harmless}{between}{danger}") in {"dangerous", "forbidden"}
    assert _level(f"{danger}\n{harmless}") in {"dangerous", "forbidden"}


@each(
    "text",
    [
        "$(" * 3000, "(" * 5000, "`" * 5001, '"' * 9999, "{ " * 3000, "a" * 200_000, "a " * 60_000, "\\" * 50_000,
        "echo x; " * 5000, "if true; then " * 1000, "<<E\n" * 2000, "${x:-" * 2000, "eval " * 5000, "sh -c " * 3000,
        "x=$x$x;" * 2000, "sudo " * 5000 + "ls", "cat <(" * 1000 + ")" * 1000, "a | " * 5000 + "a", "\0" * 1000,
        "x=aaaaaaaaaaaaaaaa;" + "x=$x$x$x$x;" * 30 + "echo $x", "echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}",
    ],
)  # fmt: skip
def test_no_text_takes_long(text):
    assert _level(text) in LEVELS


def _stays_dangerous(command: str, names: list[str]) -> None:
    # An outer find would put its own paths in.
    assume("{}" not in command or "find -exec" not in names)
    assume(_level(command) in {"dangerous", "forbidden"})
    written = functools.reduce(lambda text, name: MUTATIONS[name](text), names, command)
    assert _level(written) in {"dangerous", "forbidden"}, written


def _level(command: str) -> str:
    return classify_command(command, corpus.PROJECT, (Path(corpus.PROJECT),)).level
