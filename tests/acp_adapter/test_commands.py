"""Commands that a person types."""

from __future__ import annotations

import pytest

from acp_adapter.commands import REDO, REWIND, UNDO, Typed, offered, turns_to_rewind, typed_command
from agent_core.errors import RequestError
from agent_core.prompt_parts import SaidLink, SaidText


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("/undo", Typed(UNDO, "")),
        ("  /redo \n", Typed(REDO, "")),
        ("/rewind  3 ", Typed(REWIND, "3")),
        ("/undo that please", Typed(UNDO, "that please")),
    ],
)
def test_a_prompt_that_begins_with_a_commands_name_is_that_command(text, typed):
    assert typed_command((SaidText(text),)) == typed


@pytest.mark.parametrize("text", ["undo", "please /undo", "/undoes", "/usr/bin/env is a path", "/", "", "/\nundo"])
def test_everything_else_is_for_the_model(text):
    assert typed_command((SaidText(text),)) is None


def test_a_prompt_of_several_parts_is_for_the_model():
    assert typed_command((SaidText("/undo"), SaidLink("file:///srv/a.py", "a.py"))) is None
    assert typed_command((SaidLink("file:///srv/a.py", "a.py"),)) is None


def test_undo_is_one_turn_and_rewind_as_many_as_are_written():
    assert turns_to_rewind(Typed(UNDO, "")) == 1
    assert turns_to_rewind(Typed(REWIND, "12")) == 12


@pytest.mark.parametrize(
    "typed",
    [Typed(UNDO, "2"), *(Typed(REWIND, rest) for rest in ("", "0", "-1", "two", "1 2", "²", "9" * 23, "9" * 5_000))],
)
def test_a_number_that_is_none_is_refused_in_words(typed):
    with pytest.raises(RequestError, match="Nothing was changed"):
        turns_to_rewind(typed)


def test_every_command_is_offered_with_what_may_follow_it():
    commands = {command.name: command.hint for command in offered().commands}
    assert commands == {"undo": "", "rewind": "how many turns", "redo": ""}
