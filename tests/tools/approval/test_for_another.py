"""Whoever works for a session has its permissions at every moment, under a name and perhaps in another place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tools.approval.actions import WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Rules
from tools.approval.questions import Answer, NobodyToAsk
from tools.errors import Denied


class Person:
    def __init__(self):
        self.questions = []

    def ask(self, question, interrupt):
        self.questions.append(question)
        return Answer(allowed=True, scope="directory")


def _write(name):
    path = Path("/ws") / name
    return WritePath(path, None, b"x", path)


def _gate(approvals, call="c1"):
    return Gate(approvals, call, CancelToken(), lambda _: None)


def test_mode_and_answers_are_shared_both_ways():
    person = Person()
    own = Approvals(Rules(roots=(Path("/ws"),)), approver=person)
    other = own.for_another("Agent 1")
    own.mode = "plan"
    assert other.mode == "plan"
    other.mode = "default"
    assert own.mode == "default"
    before = own.changes
    _gate(other).authorize(_write("a"))
    assert own.changes == other.changes > before
    _gate(own).authorize(_write("b"))
    assert [question.asker for question in person.questions] == ["Agent 1"]


def test_another_place_and_another_approver_are_its_own():
    own = Approvals(Rules(roots=(Path("/ws"),)), mode="accept_edits")
    elsewhere = own.for_another("Agent 1", rules=dataclasses.replace(own.rules, roots=(Path("/copy"),)))
    assert own.decide(_write("a")).verdict == "allow"
    assert elsewhere.decide(_write("a")).verdict == "ask"
    person = Person()
    own.approver = person
    behind = own.for_another("Agent 1", approver=NobodyToAsk())
    own.mode = "default"
    with pytest.raises(Denied, match="nobody to ask"):
        _gate(behind).authorize(_write("a"))
    assert person.questions == []


def test_who_asks_or_waits_to_is_known_while_it_lasts():
    seen = []

    class Looking(Person):
        def ask(self, question, interrupt):
            seen.append((own.queue.is_asking("c1"), own.queue.is_asking("c2")))
            return Answer(allowed=True)

    own = Approvals(Rules(roots=(Path("/ws"),)), approver=Looking())
    _gate(own.for_another("Agent 1"), "c1").authorize(_write("a"))
    assert seen == [(True, False)]
    assert not own.queue.is_asking("c1")
