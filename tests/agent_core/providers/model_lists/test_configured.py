"""Which providers can be asked."""

from __future__ import annotations

import pytest

from agent_core.providers.available_models import configured_providers, offline_is_chosen
from tests.support.sample_configuration import configuration

OPENAI = {"provider": "openai", "default": "gpt-5.1", "api_key": "k"}


def names(home, settings, environ=None, accounts=(), **overrides):
    return [each.name for each in configured_providers(configuration(home, settings, environ, **overrides), accounts)]


@pytest.mark.parametrize(
    ("settings", "environ", "expected"),
    [
        ({"model": OPENAI}, {}, ["openai"]),
        ({"model": {"provider": "openai", "default": "m"}}, {}, []),
        ({"model": OPENAI}, {"MISTRAL_API_KEY": "m", "ANTHROPIC_API_KEY": "a"}, ["openai", "anthropic", "mistral"]),
        ({"model": OPENAI}, {"GROQ_API_KEY": "  "}, ["openai"]),
        ({"model": {"provider": "ollama", "default": "qwen3:8b"}}, {}, ["ollama"]),
        ({"model": OPENAI, "providers": {"lmstudio": {}}}, {}, ["openai", "lmstudio"]),
        ({"model": OPENAI, "fallback_providers": ["ollama:qwen3:8b"]}, {}, ["openai", "ollama"]),
        (
            {"model": OPENAI, "custom_providers": [{"name": "Work", "base_url": "https://gw.example/v1"}]},
            {},
            ["openai", "work"],
        ),
        (
            {"model": OPENAI, "providers": {"work": {"base_url": "https://gw.example/v1", "key_env": "WORK_KEY"}}},
            {},
            ["openai"],
        ),
        ({"model": OPENAI, "providers": {"work": {"model": "no-address"}}}, {}, ["openai"]),
        ({"model": OPENAI, "providers": {"work": {"base_url": 7}}}, {}, ["openai"]),
        ({"model": OPENAI}, {"HERMES_MODEL": "ollama:llama"}, ["ollama", "openai"]),
        ({"model": OPENAI}, {"AZURE_OPENAI_API_KEY": "no address"}, ["openai"]),
        ({"model": {"provider": "offline"}}, {"GROQ_API_KEY": "g"}, ["groq"]),
        ({}, {}, []),
    ],
)
def test_a_provider_is_offered_when_it_could_be_asked(home, settings, environ, expected):
    assert names(home, settings, environ) == expected


def test_an_account_counts_once_somebody_signed_in(home):
    assert names(home, {"model": OPENAI}, accounts=("codex",)) == ["openai", "codex"]


def test_the_models_that_the_settings_name_belong_to_their_providers(home):
    config = configuration(
        home,
        {
            "model": OPENAI,
            "providers": {"work": {"base_url": "https://gw.example/v1", "model": "house-model"}},
            "fallback_providers": ["openai:gpt-5", {"model": "elsewhere", "base_url": "http://127.0.0.1:1/v1"}],
        },
        {"HERMES_MODEL": "gpt-6"},
    )
    named = {each.name: each.named for each in configured_providers(config)}
    assert named == {"openai": ("gpt-6", "gpt-5.1", "gpt-5"), "work": ("house-model",)}


def test_an_address_is_shown_and_kept_without_what_is_secret_in_it(home):
    custom = {"base_url": "http://me:secret@127.0.0.1:8080/v1", "default": "m"}
    (provider,) = configured_providers(configuration(home, {"model": custom}))
    assert provider.title == "Server at 127.0.0.1:8080"
    assert provider.list_key == "custom http://127.0.0.1:8080/v1"


@pytest.mark.parametrize(
    ("settings", "overrides", "expected"),
    [
        ({"model": {"provider": "offline"}}, {}, True),
        ({"model": OPENAI}, {"provider": "offline", "model": "offline"}, True),
        ({"model": OPENAI}, {}, False),
    ],
)
def test_the_offline_model_is_offered_only_where_it_is_chosen(home, settings, overrides, expected):
    assert offline_is_chosen(configuration(home, settings, **overrides)) is expected
