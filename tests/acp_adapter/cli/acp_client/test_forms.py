"""Forms that the agent wants filled in, at a terminal."""

from __future__ import annotations

import sys

from acp_adapter.cli.console import style_for
from acp_adapter.cli.interrupts import Interrupts
from acp_adapter.cli.questions import Asking, Forms
from tests.support.at_terminal import at_terminal
from tests.support.each import each

UP, DOWN = "\x1b[A", "\x1b[B"
CHOICE = {"type": "string", "title": "Your answer", "enum": ["SQLite", "Postgres"]}
OTHER = {"type": "string", "title": "Something else"}
ANY = {"type": "array", "title": "Which", "items": {"type": "string", "enum": ["a", "b", "c"]}}


def form(*required, **fields):
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return {"mode": "form", "message": "Say", "requestedSchema": schema}


def fill(params, monkeypatch, *types):
    with at_terminal(monkeypatch, *types) as person:
        reply, words = Forms(Asking(Interrupts(None), style_for(sys.stdout))).fill(params)
    return reply, words, person.text


@each(
    ("params", "types", "content"),
    [
        (form("x", x=CHOICE), [("Ctrl-C", f"{DOWN}\r")], {"x": "Postgres"}),
        (form(x=CHOICE), [("Ctrl-C", f"{DOWN}{DOWN}\r")], {}),
        (form(x={**CHOICE, "default": "Postgres"}), [("Ctrl-C", "\r")], {"x": "Postgres"}),
        (form(x=CHOICE, x_other=OTHER), [("Ctrl-C", "\r")], {"x": "SQLite"}),
        (form(x=CHOICE, x_other=OTHER), [("Ctrl-C", "3"), ("else:", "Oracle\n")], {"x_other": "Oracle"}),
        (form(x=ANY), [("Ctrl-C", f" {DOWN}{DOWN} \r")], {"x": ["a", "c"]}),
        (form(x={**ANY, "default": ["b"]}), [("Ctrl-C", f"{UP} \r")], {"x": ["a", "b"]}),
        (form(x=ANY, x_other=OTHER), [("Ctrl-C", "4\r"), ("else:", "d\n")], {"x_other": "d"}),
        (form(x={"type": "boolean"}), [("Ctrl-C", f"{DOWN}\r")], {"x": False}),
        (form(x={"type": "string"}), [(">", "two words\n")], {"x": "two words"}),
        (form(x={"type": "string"}), [(">", "\n")], {}),
        (form("x", x={"type": "string", "default": "d"}), [(">", "\n")], {"x": "d"}),
        (form("x", x={"type": "string"}), [(">", "\n"), ("has to be answered", ""), (">", "y\n")], {"x": "y"}),
        (form(x={"type": "integer"}), [(">", "many\n"), ("a number", ""), (">", "7\n")], {"x": 7}),
        (form(x={"type": "number"}), [(">", "inf\n"), ("a number", ""), (">", "0.5\n")], {"x": 0.5}),
        (
            form(x={"type": "string", "oneOf": [{"const": "p", "title": "Postgres"}]}, y={"type": "string"}),
            [("Ctrl-C", "\r"), (">", "z\n")],
            {"x": "p", "y": "z"},
        ),
        (form(x="?", y={"type": "string", "enum": 5}), [(">", "z\n")], {"y": "z"}),
        ({"requestedSchema": 5}, [], {}),
    ],
)
def test_what_is_chosen_and_written_is_the_answer(params, types, content, monkeypatch):
    assert fill(params, monkeypatch, *types)[0] == {"action": "accept", "content": content}


@each(("params", "typed"), [(form(x=CHOICE), ("Ctrl-C", "\x1b")), (form(x={"type": "string"}), (">", "\x04"))])
def test_escape_and_ctrl_d_decline(params, typed, monkeypatch):
    assert fill(params, monkeypatch, typed)[:2] == ({"action": "decline"}, "declined")


@each(("key", "action"), [("\r", "accept"), ("n", "decline"), ("\x1b", "decline")])
def test_a_page_is_the_persons_to_open(key, action, monkeypatch):
    reply, _, _ = fill({"mode": "url", "message": "Sign in", "url": "https://x.org"}, monkeypatch, ("Ctrl-C", key))
    assert reply == {"action": action}


def test_the_answer_is_told_in_words(monkeypatch):
    params = form(x=ANY, y={"type": "boolean"})
    assert fill(params, monkeypatch, ("Space", f" {DOWN} \r"), ("Yes", "\r"))[1] == "a, b; Yes"


def test_titles_and_descriptions_stand_before_the_fields_and_steer_no_terminal(monkeypatch):
    field = {"type": "string", "title": "Na\x1b]0;x\x07me", "description": "Yours\x1b[2J"}
    _, _, shown = fill(form(x=field, y={"type": "string"}), monkeypatch, (">", "a\n"), (">", "b\n"))
    assert "    Name: Yours\n" in shown
    assert "\x1b]0" not in shown
    assert "\x1b[2J" not in shown
