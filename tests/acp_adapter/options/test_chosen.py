"""What a client's ids and values change, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.option_changes import chosen
from acp_adapter.options import offered_options
from agent_core.errors import RequestError
from agent_core.home import Home
from agent_core.providers.available_models import ModelLists, OfferedModel, OfferedProvider
from agent_core.settings.options import SessionChoices
from tests.support.sample_configuration import configuration

SETTINGS = {
    "model": {"provider": "openai", "default": "gpt-5.1", "api_key": "k"},
    "providers": {"work": {"base_url": "https://gw.example/v1", "model": "house"}},
}
TERMINALS = ClientCapabilities(terminals=True)
BEFORE = SessionChoices(mode="default", edits="mode", model="openai:gpt-5.1", effort="high")


def choose(home: Path, config_id: str, value: object, before: SessionChoices = BEFORE, **more: Any) -> SessionChoices:
    config = configuration(home, SETTINGS, more.pop("environ", None), **more.pop("overrides", {}))
    known = more.pop("known", None)
    known = ModelLists(Home(home)).offered(config) if known is None else known
    return chosen(before, config_id, value, config, known=known, **more)


@pytest.mark.parametrize(
    ("config_id", "value", "changed"),
    [
        ("mode", "plan", {"mode": "plan"}),
        ("edits", "ask", {"edits": "ask"}),
        ("edits", "mode", {}),
        ("thoughts", False, {"thoughts": False}),
        ("thoughts", "false", {"thoughts": False}),
        ("thoughts", True, {}),
        ("editor_terminals", True, {"editor_terminals": True}),
        ("thought_level", "low", {"effort": "low"}),
        ("thought_level", "settings", {"effort": None}),
        ("model", "openai:gpt-5", {"model": "openai:gpt-5"}),
        ("model", "gpt-5", {"model": "openai:gpt-5"}),
        ("model", "openai:never-heard-of", {"model": "openai:never-heard-of", "effort": None}),
        ("model", "work:house", {"model": "work:house", "effort": None}),
        ("model", "house", {"model": "work:house", "effort": None}),
        ("model", "ollama:qwen3:8b", {"model": "ollama:qwen3:8b", "effort": None}),
        ("model", "openai:gpt-4o", {"model": "openai:gpt-4o", "effort": None}),
        ("model", "openai:gpt-5.2", {"model": "openai:gpt-5.2"}),
        ("edit_approval_policy", "ask", {"edits": "ask"}),
        ("edit_approval_policy", "workspace_session", {"mode": "accept_edits"}),
        ("edit_approval_policy", "session", {"mode": "accept_edits"}),
    ],
)
def test_a_value_changes_what_it_says_and_nothing_else(
    home: Path, config_id: str, value: object, changed: Any
) -> None:
    assert choose(home, config_id, value, client=TERMINALS) == replace(BEFORE, **changed)


def test_an_alias_of_a_provider_is_stored_under_its_own_name(home: Path) -> None:
    found = choose(home, "model", "claude:claude-sonnet-4-6", environ={"ANTHROPIC_API_KEY": "k"})
    assert found.model == "anthropic:claude-sonnet-4-6"


def test_the_old_name_never_takes_a_freedom_that_was_given(home: Path) -> None:
    free = SessionChoices(mode="dont_ask", edits="ask")
    assert choose(home, "edit_approval_policy", "session", free) == SessionChoices(mode="dont_ask", edits="mode")


@pytest.mark.parametrize(
    ("config_id", "value", "told"),
    [
        ("nonsense", "x", "mode, model, thought_level, edits, thoughts"),
        ("editor_terminals", True, "There is no option 'editor_terminals'"),
        ("mode", "yolo", "plan, default, accept_edits, dont_ask"),
        ("edits", "never", "mode, ask"),
        ("edits", None, "mode, ask"),
        ("edit_approval_policy", "always", "ask, workspace_session, session"),
        ("thoughts", "perhaps", "true, false"),
        ("thoughts", 1, "true, false"),
        ("thought_level", "xhigh", "settings, none, low, medium, high"),
        ("thought_level", ["low"], "settings, none, low"),
        ("model", "nonsense", "openai:gpt-5.1"),
        ("model", "", "openai:gpt-5.1"),
        ("model", ":x", "openai:gpt-5.1"),
        ("model", "openai:", "openai:gpt-5.1"),
        ("model", None, "openai:gpt-5.1"),
        ("model", 7, "openai:gpt-5.1"),
        ("model", "nobody:m", "Provider 'nobody' is not known"),
        ("model", "anthropic:claude-x", "ANTHROPIC_API_KEY"),
        ("model", "azure:m", "model.base_url"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(
    home: Path, config_id: str, value: object, told: str
) -> None:
    with pytest.raises(RequestError) as refused:
        choose(home, config_id, value)
    assert told in refused.value.public


def test_a_refusal_names_a_dozen_models_of_many_and_little_of_a_long_value(home: Path) -> None:
    known = (OfferedProvider("openai", "OpenAI", tuple(OfferedModel(f"m{number}") for number in range(300))),)
    with pytest.raises(RequestError, match="and 288 more") as refused:
        choose(home, "model", "x" * 10_000, known=known)
    assert len(refused.value.public) < 500


def test_an_effort_is_refused_where_the_model_has_none(home: Path) -> None:
    with pytest.raises(RequestError, match="How much work:house thinks cannot be chosen"):
        choose(home, "thought_level", "low", SessionChoices(model="work:house"))


def test_an_effort_is_that_of_the_model_in_use(home: Path) -> None:
    assert choose(home, "thought_level", "low", SessionChoices(), used="openai:gpt-5").effort == "low"
    with pytest.raises(RequestError, match="work:house"):
        choose(home, "thought_level", "low", SessionChoices(), used="work:house")


def test_a_process_that_was_started_offline_stays_offline(home: Path) -> None:
    offline = {"provider": "offline", "model": "offline"}
    with pytest.raises(RequestError, match="started offline"):
        choose(home, "model", "openai:gpt-5", overrides=offline)
    assert choose(home, "model", "offline", overrides=offline).model == "offline:offline"


def test_the_complete_list_shows_what_a_change_took_with_it(home: Path) -> None:
    config = configuration(home, SETTINGS)
    after = choose(home, "model", "work:house")
    ids = [option.id for option in offered_options(after, config, (), ClientCapabilities())]
    assert ids == ["mode", "model", "edits", "thoughts"]
