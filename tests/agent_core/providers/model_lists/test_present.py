"""Which model a session shows as its own."""

from __future__ import annotations

import pytest

from agent_core.providers.available_models import present_model, resolve_chosen, split_name
from tests.support.sample_configuration import configuration

SETTINGS = {
    "model": {"provider": "openai", "default": "gpt-5.1", "api_key": "k"},
    "providers": {"work": {"base_url": "https://gw.example/v1"}, "a:b": {"base_url": "https://ab.example/v1"}},
}


@pytest.mark.parametrize(
    ("chosen", "used", "overrides", "name"),
    [
        ("", "", {}, "openai:gpt-5.1"),
        ("", "work:used", {}, "work:used"),
        ("work:chosen", "work:used", {}, "work:chosen"),
        ("", "work:used", {"model": "gpt-5"}, "openai:gpt-5"),
        ("work:chosen", "work:used", {"model": "gpt-5"}, "work:chosen"),
        ("gpt-4o", "", {}, "openai:gpt-4o"),
    ],
)
def test_what_was_chosen_goes_before_what_was_used_and_that_before_the_settings(home, chosen, used, overrides, name):
    present = present_model(configuration(home, SETTINGS, **overrides), chosen, used)
    assert present.name == name
    assert present.choice is not None
    assert present.choice.name == name


def test_one_that_cannot_be_used_is_shown_as_it_is_with_the_reason(home):
    present = present_model(configuration(home, SETTINGS), "anthropic:claude-x")
    assert (present.name, present.choice) == ("anthropic:claude-x", None)
    assert "ANTHROPIC_API_KEY" in present.problem


def test_without_any_model_there_is_no_name(home):
    present = present_model(configuration(home, {}), "")
    assert (present.name, present.choice) == ("", None)
    assert "no model is configured" in present.problem


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ollama:qwen3:8b", ("ollama", "qwen3:8b")),
        ("a:b:m", ("a:b", "m")),
        ("a:m", ("a", "m")),
        ("plain", ("", "plain")),
        ("openrouter:maker/model:free", ("openrouter", "maker/model:free")),
    ],
)
def test_a_name_is_taken_apart_at_its_provider(home, name, parts):
    assert split_name(configuration(home, SETTINGS), name) == parts


def test_a_model_of_a_server_whose_name_has_a_colon_is_found(home):
    choice = resolve_chosen(configuration(home, SETTINGS), "a:b:m")
    assert (choice.provider, choice.model, choice.base_url) == ("a:b", "m", "https://ab.example/v1")
