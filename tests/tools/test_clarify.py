"""`clarify`: what the person is asked, and what the model is told of the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tools.clarify  # noqa: F401 - registers the tool
from tests.support.tool_context import PlanInMemory, call, error_of, make_context, payload
from tools.agent_ports import PersonAnswer, PersonQuestion
from tools.ports import Interrupt
from tools.registry import registry


@dataclass
class Person(PlanInMemory):
    """Answers every question in the same way."""

    answer: PersonAnswer = field(default_factory=lambda: PersonAnswer("answered", {"answer": "SQLite"}))
    asked: list[PersonQuestion] = field(default_factory=list)

    def ask(self, question: PersonQuestion, interrupt: Interrupt) -> PersonAnswer:
        self.asked.append(question)
        return self.answer


def test_the_person_is_asked_on_the_calls_card_and_the_answer_goes_to_the_model(tmp_path: Path):
    person = Person()
    result = call(make_context(tmp_path, agent=person), "clarify", question=" Which database? ")
    assert payload(result) == {"answer": "SQLite"}
    (question,) = person.asked
    assert (question.text, question.call_id) == ("Which database?", "call-1")
    assert [(asked.kind, asked.choices) for asked in question.fields] == [("text", ())]
    assert [shown.text for shown in result.shown] == ["Which database?\n\nSQLite"]


@pytest.mark.parametrize("choices", [["SQLite", "Postgres", "SQLite", " "], '["SQLite", "Postgres"]'])
def test_choices_are_offered_once_each_and_an_own_answer_beside_them(tmp_path: Path, choices: object):
    person = Person()
    call(make_context(tmp_path, agent=person), "clarify", question="Which database?", choices=choices)
    (asked,) = person.asked[0].fields
    assert (asked.kind, asked.choices, asked.is_open) == ("choice", ("SQLite", "Postgres"), True)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("unfit", "not one of the choices"),
        ("declined", "do not ask again"),
        ("dismissed", "safest"),
        ("unavailable", "End your turn"),
    ],
)
def test_without_an_answer_the_model_is_told_which_way_to_go_on(tmp_path: Path, outcome, told: str):
    person = Person(answer=PersonAnswer(outcome))
    result = call(make_context(tmp_path, agent=person), "clarify", question="Which one?", choices=["a", "b"])
    assert payload(result)["outcome"] == outcome
    assert told in payload(result)["note"]
    assert [shown.text for shown in result.shown] == ["Which one?\n- a\n- b"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({}, "'question' is missing"),
        ({"question": "  "}, "empty"),
        ({"question": "x" * 4001}, "4000"),
        ({"question": "Which?", "choices": "[a"}, "has to be a list"),
        ({"question": "Which?", "choices": [{"x": "a"}]}, "has to be a string"),
        ({"question": "Which?", "choices": [str(number) for number in range(21)]}, "at most 20"),
        ({"question": "Which?", "choices": ["x" * 401]}, "400"),
        ({"question": "What is your API key?"}, "secret"),
    ],
)
def test_what_cannot_be_asked_is_told_to_the_model_and_nobody_is_asked(tmp_path: Path, args, told: str):
    person = Person()
    assert told in error_of(call(make_context(tmp_path, agent=person), "clarify", **args))
    assert person.asked == []


def test_without_an_agent_there_is_nobody_to_ask(tmp_path: Path):
    assert "nobody to ask" in error_of(call(make_context(tmp_path), "clarify", question="Which?"))


def test_its_definition_costs_little():
    entry = registry.get("clarify")
    assert entry is not None
    assert entry.toolset == "planning"
    assert entry.parallel == "never"
    assert len(json.dumps(entry.definition())) < 350
