"""Commands from files: what is read of them, and what becomes of their arguments."""

from __future__ import annotations

import pytest

from acp_adapter.commands.custom import CustomCommand, filled, read_command
from tests.support.each import each


def test_a_file_with_a_head_is_read():
    text = '---\ndescription: "Explain a file"\nargument-hint: path\nmodel: other\n---\n\nExplain $1.\n'
    assert read_command("explain", text, "yours") == CustomCommand(
        "explain", "Explain a file (yours)", "path", "Explain $1.", "yours"
    )


@each(
    ("text", "description", "hint", "body"),
    [
        ("# Look at it\n\nWell.", "Look at it (project)", "", "# Look at it\n\nWell."),
        ("Do $ARGUMENTS.", "Do $ARGUMENTS. (project)", "arguments", "Do $ARGUMENTS."),
        ("---\r\ndescription: Two\r\n---\r\nDo it.\r\n", "Two (project)", "", "Do it."),
        ("---\nno field\n: x\n---\nDo it.", "Do it. (project)", "", "Do it."),
        ("---\ndescription: never closed\nDo it.", "--- (project)", "", "---\ndescription: never closed\nDo it."),
        ("---\ndescription: 'It''s'\n---\nDo it.", "It''s (project)", "", "Do it."),
        ("---\ndescription: &a [*a]\n---\nDo it.", "&a [*a] (project)", "", "Do it."),
        ("---\n---\nDo it.", "Do it. (project)", "", "Do it."),
    ],
)
def test_whatever_the_head_is_like_the_body_is_the_prompt(text, description, hint, body):
    command = read_command("name", text, "project")
    assert command is not None
    assert (command.description, command.hint, command.body) == (description, hint, body)


@pytest.mark.parametrize("text", ["", "  \n", "---\ndescription: x\n---\n\n"])
def test_a_file_without_a_prompt_is_no_command(text):
    assert read_command("name", text, "project") is None


def test_a_description_is_one_short_line_without_signs_that_hide_something():
    command = read_command("name", f"---\ndescription: Safe\u202e\x1b[31m{'x' * 500}\n---\nDo it.", "project")
    assert command is not None
    assert len(command.description) < 160
    assert command.description.endswith("(project)")
    assert not {"\u202e", "\x1b"} & set(command.description)


@each(
    ("body", "arguments", "text"),
    [
        ("Say $ARGUMENTS!", "a b", "Say a b!"),
        ("$1 then $2, $1", "a b", "a then b, a"),
        ("$1|$2", '"two words" b', "two words|b"),
        ("$1|$2", "it's so", "it's|so"),
        ("[$3]", "a b", "[]"),
        ("$ARGUMENTS", "", ""),
        ("Do it.", "", "Do it."),
        ("Do it.", "now", "Do it.\n\nnow"),
        ("$10 and $0 and $x and $ARGUMENTSX", "a", "$10 and $0 and $x and $ARGUMENTSX\n\na"),
        ("$1 $2", "$2 $ARGUMENTS", "$2 $ARGUMENTS"),
        ("`$1`", r"\d+", "`d+`"),
        ("$ARGUMENTS", r"a\nb \1", r"a\nb \1"),
    ],
)
def test_arguments_take_their_places_once(body, arguments, text):
    assert filled(body, arguments) == text
