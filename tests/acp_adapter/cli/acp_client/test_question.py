"""Permission questions at a terminal: arrow keys where lines can be drawn over, a line of words elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from acp_adapter.cli.console import style_for
from acp_adapter.cli.interrupts import Interrupts, Stopped, ended_in_order
from acp_adapter.cli.questions import Asking, Option, permission_question
from tests.support.at_terminal import at_terminal
from tests.support.each import each
from tests.support.screen import screen_of

OPTIONS = [
    Option("yes", "allow_once", "Allow once"),
    Option("ever", "allow_always", "Always allow `make` in this directory (this session)"),
    Option("kept", "allow_always", "Always allow `make` in this directory (every session here)"),
    Option("no", "reject_once", "Reject"),
    Option("why", "reject_once", "Reject and tell why"),
]
ASKED = "cancels the turn"
UP, DOWN = "\x1b[A", "\x1b[B"


def ask(options=OPTIONS, interrupts=None, withdrawn=None):
    asking = Asking(interrupts or Interrupts(None), style_for(sys.stdout))
    asking.withdrawn = withdrawn or asking.withdrawn
    question = permission_question(asking)
    assert question is not None
    return question(options)


@each(
    ("keys", "chosen"),
    [
        ("\r", "yes"),
        (f"{DOWN}{DOWN}\r", "kept"),
        (f"{UP}{DOWN}\r", "ever"),
        (f"{DOWN}{DOWN}{DOWN}{DOWN}{UP}\n", "no"),
        ("\x1bOB\r", "ever"),
        ("y", "yes"),
        ("A", "ever"),
        ("n", "no"),
        ("3", "kept"),
        ("x?y", "yes"),
        ("\x1b[3~\x1b[1;5Dn", "no"),
    ],
)
def test_the_keys_choose(keys, chosen, monkeypatch):
    with at_terminal(monkeypatch, (ASKED, keys)):
        answer = ask()
    assert isinstance(answer, Option)
    assert answer.id == chosen


@each("keys", ["\x1b", "\x04"])
def test_escape_and_ctrl_d_deny(keys, monkeypatch):
    with at_terminal(monkeypatch, (ASKED, keys)):
        assert ask() == "no"


def test_the_question_is_taken_away_and_the_terminal_is_as_before(monkeypatch):
    with at_terminal(monkeypatch, (ASKED, f"{DOWN}\r")) as person:
        before = person.modes()
        ask()
        assert person.modes() == before
    assert not screen_of(person.text).strip()


def test_a_long_answer_is_never_cut_off(monkeypatch):
    with at_terminal(monkeypatch, ("Enter", "y"), columns=40) as person:
        ask()
    words = " ".join(screen_of(person.text.rpartition("\x1b[J")[0]).split())
    assert "Always allow `make` in this directory (every session here)" in words


@each("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_us_leaves_the_terminal_as_it_was(number, monkeypatch):
    with at_terminal(monkeypatch) as person, ended_in_order():
        before = person.modes()
        person.once(ASKED, lambda: os.kill(os.getpid(), number))
        with pytest.raises(Stopped) as stopped:
            ask()
        assert person.modes() == before
    assert stopped.value.reason == "terminated"


def test_a_terminal_that_is_gone_denies(monkeypatch):
    with at_terminal(monkeypatch) as person:
        person.once(ASKED, person.leave)
        assert ask() == "no"


def test_ctrl_c_cancels_the_turn_and_the_question(monkeypatch):
    cancelled = threading.Event()
    with Interrupts(None) as interrupts, at_terminal(monkeypatch) as person:
        interrupts.cancel_by(cancelled.set)
        person.once(ASKED, lambda: os.kill(os.getpid(), signal.SIGINT))
        before = person.modes()
        assert ask(interrupts=interrupts) == "cancelled"
        assert person.modes() == before
    assert cancelled.is_set()


def test_a_question_that_is_withdrawn_disappears(monkeypatch):
    with at_terminal(monkeypatch) as person:
        assert ask(withdrawn=lambda: ASKED in person.text) == "withdrawn"
    assert not screen_of(person.text).strip()


def test_without_an_answer_on_offer_it_is_no(monkeypatch):
    with at_terminal(monkeypatch):
        assert ask([]) == "no"


@each(
    ("typed", "reply"),
    [("y\n", OPTIONS[0]), ("a\n", OPTIONS[1]), ("n\n", OPTIONS[3]), ("huh\n9\n3\n", OPTIONS[2]), ("\x04", "no")],
)
def test_a_terminal_that_only_goes_forward_asks_for_a_letter_or_a_number(typed, reply, monkeypatch):
    lines = typed.splitlines(keepends=True)
    with at_terminal(monkeypatch, *(("a letter: ", line) for line in lines), term="dumb") as person:
        assert ask() == reply
    assert "\x1b" not in person.text
    assert f"    3 {OPTIONS[2].name}\n" in person.text


def test_where_there_is_no_terminal_nobody_is_asked(capsys):
    assert permission_question(Asking(Interrupts(None), style_for(sys.stdout))) is None
