"""Which prompts are commands."""

from __future__ import annotations

import pytest

from acp_adapter.commands.builtin import BUILT_IN, KNOWN_ELSEWHERE
from acp_adapter.commands.command import Told
from acp_adapter.commands.custom import read_command
from acp_adapter.commands.registry import by_name
from acp_adapter.commands.run import is_at_once, is_slashed, is_slip, typed_command
from agent_core.errors import RequestError
from agent_core.events import SaidDocument, SaidImage, SaidLink, SaidText
from tests.support.each import each

_OWN = tuple(
    command
    for name in ("explain", "docs:write", "undo")
    if (command := read_command(name, f"Do {name} with $ARGUMENTS.", "project")) is not None
)
_LINK = SaidLink("file:///srv/app/a.py", "a.py")


@each(
    ("text", "name", "rest"),
    [
        ("/undo", "undo", ""),
        ("  /redo \n", "redo", ""),
        ("/Undo", "undo", ""),
        ("/rewind  3 ", "rewind", "3"),
        ("/undo that please", "undo", "that please"),
        ("/queue two\nlines", "queue", "two\nlines"),
        ("/review\nmain..HEAD", "review", "main..HEAD"),
        ("/explain a b", "explain", "a b"),
        ("/docs:write it", "docs:write", "it"),
    ],
)
def test_a_prompt_that_begins_with_a_commands_name_is_that_command(text, name, rest):
    typed = typed_command((SaidText(text),), by_name(_OWN))
    assert typed is not None
    assert (typed.command.name, typed.rest) == (name, rest)


@each(
    "text",
    [
        "undo",
        "please /undo",
        "/undoes",
        "/usr/bin/env is a path",
        "/srv/a.py is broken",
        "/help.md is wrong",
        "/undo/redo",
        "/post answers with 404",
        "/tcp",
        "/docs",
        "/",
        "",
        "/\nundo",
        "// undo",
    ],
)
def test_everything_else_is_for_the_model(text):
    assert typed_command((SaidText(text),), by_name(_OWN)) is None


@each(
    ("text", "meant"),
    [
        ("/undoo", "undo"),
        ("/udno", "undo"),  # the first letter is right
        ("/rewnid 2", "rewind"),
        ("/hlep", "help"),
        ("/exprot md", "export"),
        ("/tool", "tools"),
        ("/explian x", "explain"),
        ("/models", "model"),
    ],
)
def test_a_slip_of_the_finger_is_asked_about_and_does_nothing(text, meant):
    typed = typed_command((SaidText(text),), by_name(_OWN))
    assert typed is not None
    outcome = typed.command.run(typed, None)
    assert isinstance(outcome, Told)
    assert f"`/{meant}`" in outcome.text
    assert "Nothing was done" in outcome.text


def test_a_slip_that_may_mean_two_commands_names_both():
    typed = typed_command((SaidText("/modl"),))
    assert typed is not None
    assert "Did you mean `/mode` or `/model`?" in typed.command.run(typed, None).text


@each(
    ("one", "other", "slip"),
    [
        ("undo", "undo", False),
        ("cost", "host", True),
        ("mcp", "mc", False),
        ("abcd", "abdc", True),
        ("abcd", "badc", False),
        ("abcde", "abcd", True),
        ("bcde", "abcde", True),
        ("title", "titles", True),
        ("reset", "test", False),
    ],
)
def test_a_slip_is_one_letter_or_two_neighbours(one, other, slip):
    assert is_slip(one, other) is slip


def test_no_built_in_name_is_a_slip_of_another_so_each_can_be_typed():
    for name in BUILT_IN:
        typed = typed_command((SaidText(f"/{name}"),))
        assert typed is not None
        assert typed.command is BUILT_IN[name]


def test_what_comes_with_a_command_goes_into_its_words_in_order():
    parts = (SaidText("/review "), _LINK, SaidText(" and this: "), SaidDocument("file:///srv/app/b.md", "text"))
    typed = typed_command(parts)
    assert typed is not None
    assert typed.rest == "a.py and this: b.md"
    assert typed.words == "and this:"
    assert typed.attached == 2
    assert typed.parts == parts


@pytest.mark.parametrize(("text", "name"), [("/rewind ", "2"), ("/rewind 2", "a.py"), ("/undo ", "a.py")])
def test_nothing_is_taken_back_where_a_file_is_mentioned_with_it(text, name):
    typed = typed_command((SaidText(text), SaidLink("file:///srv/app/2", name)))
    assert typed is not None
    with pytest.raises(RequestError, match="takes no mentions"):
        typed.command.run(typed, None)


_IMAGE = SaidImage("image/png", "")
_DOCUMENT = SaidDocument("file:///srv/app/b.md", "/undo")


@each(
    "before",
    [
        (_LINK,),
        (_DOCUMENT,),
        (_IMAGE,),
        (SaidText(""),),
        (SaidText(" \n"), _LINK),
        (_LINK, _DOCUMENT, SaidText("\t")),
    ],
)
def test_a_command_counts_whatever_stands_before_it_that_is_no_text(before):
    for text, name, rest in (("/rewind 2", "rewind", "2"), (" /Undo ", "undo", ""), ("/explain it", "explain", "it")):
        parts = (*before, SaidText(text), SaidText(" "))
        typed = typed_command(parts, by_name(_OWN))
        assert typed is not None
        assert (typed.command.name, typed.rest, typed.words) == (name, rest, rest)
        assert typed.parts == parts
        assert is_slashed(parts)
    assert is_at_once((*before, SaidText("/steer faster")))


def test_what_follows_a_command_is_its_words_and_what_an_editor_put_before_it_is_not():
    typed = typed_command((_LINK, SaidText("/review "), _LINK, SaidText(" now")))
    assert typed is not None
    assert (typed.rest, typed.words, typed.attached) == ("a.py now", "now", 1)


@each(
    ("parts", "attached"),
    [
        ((_LINK, SaidText("/cost")), 0),
        ((_DOCUMENT, SaidText("/cost")), 0),
        ((_IMAGE, SaidText("/cost")), 1),
        ((SaidText("/cost"), _LINK, _IMAGE), 2),
        ((_LINK, _IMAGE, SaidText("/cost"), _DOCUMENT), 2),
    ],
)
def test_links_before_a_command_are_the_editors_and_pictures_the_persons(parts, attached):
    typed = typed_command(parts)
    assert typed is not None
    assert typed.attached == attached


def test_a_command_is_the_first_text():
    for parts in (
        (SaidText("Look: "), SaidText("/undo")),
        (_LINK, SaidText("in "), SaidText("/undo")),
        (_DOCUMENT,),
        (_LINK, _IMAGE),
        (SaidText(" "),),
        (),
    ):
        assert typed_command(parts) is None
        assert not is_slashed(parts)


@each(
    ("text", "name"),
    [
        ("/clear", "reset"),
        ("/new ", "reset"),
        ("/Usage", "cost"),
        ("/agents", "tasks"),
        ("/compress the tests", "compact"),
        ("/plan", "plan"),
        ("/plan move the parser into a module of its own", "plan"),
        ("/stop", "stop"),
        ("/reasoning", "reasoning"),
        ("/reasoning high", "reasoning"),
        ("/config", "config"),
    ],
)
def test_a_name_that_people_know_from_other_agents_works(text, name):
    typed = typed_command((SaidText(text),), by_name(_OWN))
    assert typed is not None
    assert typed.command.name == name


@each(
    ("text", "types"),
    [
        ("/retry", "`/undo`"),
        ("/rollback", "`/rewind 3`"),
        ("/rollback 2", "`/undo`"),
        ("/resume", "hermes-acp chat --continue"),
        ("/resume 12ab", "list of sessions"),
        ("/diff", "`/review`"),
        ("/login", "hermes-acp setup"),
        ("/yolo", "`/mode dont_ask`"),
        ("/exit", "close the session"),
    ],
)
def test_a_name_known_from_other_agents_says_at_once_what_to_type_here(text, types):
    typed = typed_command((SaidText(text),), by_name(_OWN))
    assert typed is not None
    told = typed.command.run(typed, None)
    assert types in told.text
    assert "for the model" in told.text
    assert is_at_once((SaidText(text),))


@each(
    "text",
    [
        "/login answers with 404",
        "/new endpoint is slow",
        "/stop the server please",
        "/clear it",
        "/diff main..HEAD is empty",
        "/agents/list fails",
        "/config.json is wrong",
        "/usage of the tool",
    ],
)
def test_a_name_known_from_other_agents_with_a_sentence_behind_it_is_for_the_model(text):
    assert typed_command((SaidText(text),), by_name(_OWN)) is None


def test_a_name_known_from_other_agents_counts_with_something_attached_after_it():
    typed = typed_command((SaidText("/clear"), _LINK, _IMAGE), by_name(_OWN))
    assert typed is not None
    assert typed.command.name == "reset"


def test_a_command_of_the_persons_own_comes_before_a_name_known_from_other_agents():
    own = read_command("diff", "Show $ARGUMENTS.", "project")
    typed = typed_command((SaidText("/diff main"),), by_name((own,)))
    assert typed is not None
    assert typed.command.run(typed, None).text == "Show main."


def test_names_known_from_other_agents_are_not_offered_and_none_hides_a_command():
    assert not set(KNOWN_ELSEWHERE) & set(BUILT_IN)
    assert not set(KNOWN_ELSEWHERE) & {command.name for command in by_name().values()}


def test_only_steering_status_and_tasks_do_not_wait_for_the_running_turn():
    at_once = {name for name in BUILT_IN if is_at_once((SaidText(f"/{name} words"),))}
    assert at_once == {"steer", "status", "tasks"}
    assert not is_at_once((SaidText("/steering"),))


def test_only_a_slash_at_the_beginning_may_be_a_command():
    assert is_slashed((SaidText("  /whatever"),))
    assert not is_slashed((SaidText("what /help"),))
    assert not is_slashed((_LINK,))
    assert not is_slashed(())


def test_a_built_in_command_cannot_be_replaced():
    (offer,) = [command for command in by_name(_OWN).values() if command.name == "undo"]
    assert offer == BUILT_IN["undo"]
    typed = typed_command((SaidText("/undo"),), by_name(_OWN))
    assert typed is not None
    assert typed.command is BUILT_IN["undo"]


def test_every_command_is_offered_with_what_may_follow_it():
    commands = {command.name: command.hint for command in by_name(_OWN).values()}
    assert list(commands)[:27] == [
        *("help", "model", "mode", "permissions", "memory", "tools", "skills", "plugins", "trust", "mcp", "tasks"),
        *("status", "context", "compact", "cost"),
        *(
            "undo",
            "rewind",
            "redo",
            "reset",
            "fork",
            "title",
            "export",
            "init",
            "review",
            "steer",
            "queue",
            "version",
        ),
    ]
    assert list(commands)[27:] == ["explain", "docs:write"]
    assert commands["rewind"] == "how many turns"
    assert commands["undo"] == ""
    assert all(command.description for command in by_name(_OWN).values())
