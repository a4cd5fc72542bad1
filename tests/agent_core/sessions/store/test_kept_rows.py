"""What a session keeps between its turns, stored and read back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_core.providers.base import Usage
from agent_core.providers.pricing import Spent
from agent_core.sessions.records import KeptState
from tests.support.session_database import Desk
from tools.context import TodoItem

EVERYTHING = KeptState(
    plan=(TodoItem("1", "read", "in_progress", "high"), TodoItem("2", "wríte", "pending")),
    system="You are an agent. \ud800" * 200,
    tools=({"name": "read_file", "parameters": {"type": "object"}}, {"name": "patch"}),
    program="1.2.3",
    model="vendor:model",
    spent=Spent(3, Usage(10, 20, None, 0, None), 0.25),
    omitted_results=frozenset({"call-1", "call-2"}),
    sealed_before=4,
    images_before=5,
    prompt_layers=(("identity", 12), ("AGENTS.md", 3_400)),
    prompt_notes=("CLAUDE.md is left out.",),
)

SPENT = Spent(3, Usage(), 0.25)
WITHOUT_TEXTS = replace(EVERYTHING, system=None, tools=None)


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", "/srv/project")
    desk.store.create("other", "/srv/project")
    yield desk
    desk.close()


@pytest.mark.parametrize(
    "state",
    [
        EVERYTHING,
        KeptState(),
        KeptState(system=""),
        KeptState(tools=()),
        KeptState(spent=Spent(1, Usage(), None)),
    ],
)
def test_everything_comes_back(desk, state):
    desk.store.keep("s", state)
    assert desk.store.kept("s") == state


def test_what_an_earlier_version_kept_has_no_parts_of_the_prompt(desk):
    desk.store.keep("s", EVERYTHING)
    desk.change("UPDATE sessions SET kept = json_remove(kept, '$.prompt')")
    assert desk.store.kept("s") == replace(EVERYTHING, prompt_layers=(), prompt_notes=())


def test_costs_and_model_are_columns(desk):
    desk.store.keep("s", EVERYTHING)
    assert desk.rows("SELECT model, requests, cost FROM sessions WHERE id = 's'") == [("vendor:model", 3, 0.25)]


def test_a_model_that_was_chosen_stays_until_one_has_answered(desk):
    desk.change("UPDATE sessions SET model = 'chosen:one'")
    desk.store.keep("s", KeptState())
    assert desk.rows("SELECT model FROM sessions WHERE id = 's'") == [("chosen:one",)]


def test_long_texts_are_stored_once_for_all_sessions(desk):
    for session in ("s", "other"):
        desk.store.keep(session, EVERYTHING)
    assert desk.rows("SELECT count(*) FROM texts") == [(2,)]


@pytest.mark.parametrize(
    ("damage", "left", "what"),
    [
        ("UPDATE sessions SET kept = 'no JSON'", None, "its plan"),
        ("UPDATE sessions SET kept = '[]'", None, "its plan"),
        ("UPDATE sessions SET kept = '{\"plan\": 1}'", None, "its plan"),
        ("UPDATE sessions SET kept = replace(kept, 'pending', 'pendinf')", None, "its plan"),
        ("UPDATE sessions SET usage = '['", replace(EVERYTHING, spent=SPENT), "what it has used"),
        ("UPDATE sessions SET usage = '[1]'", replace(EVERYTHING, spent=SPENT), "what it has used"),
        ("DELETE FROM texts", WITHOUT_TEXTS, ""),
        ("UPDATE texts SET body = x'00'", WITHOUT_TEXTS, "system prompt"),
        ("UPDATE texts SET body = '\"another\"'", WITHOUT_TEXTS, "system prompt"),
    ],
)
def test_what_is_damaged_is_set_aside_and_told_and_the_rest_comes_back(desk, damage, left, what):
    desk.store.keep("s", EVERYTHING)
    desk.change(damage)
    assert desk.store.kept("s") == left
    assert what in desk.store.take_damage("s")
    assert desk.store.take_damage("s") == ""
    assert desk.store.kept("s") == left


def test_tools_come_back_as_they_were_told(desk):
    for tools in (EVERYTHING.tools, EVERYTHING.tools[:1], ({"name": 1},), ({"name": True},)):
        desk.store.keep("s", replace(EVERYTHING, tools=tools))
        assert json.dumps(desk.store.kept("s").tools) == json.dumps(tools)
