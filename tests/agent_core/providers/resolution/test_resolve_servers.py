"""Servers of the user's own, their keys, and the models that are asked when the first one cannot answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import Overrides, load
from agent_core.errors import AuthRequired, SettingsError
from agent_core.home import Home
from agent_core.providers.resolve import resolve_fallbacks, resolve_model, resolve_named
from tests.support.settings_files import configure

GATEWAY = "https://gateway.example/v1"
OTHER = "https://other.example/v1"
WORK = {"base_url": GATEWAY, "api_key": "work-key", "model": "work-model"}


@pytest.fixture
def config(home: Path):
    def config(settings, environ=None, **over):
        configure(home, settings)
        return load(Home(home), Overrides(**over), environ or {})

    return config


@pytest.fixture
def resolve(config):
    return lambda settings, environ=None, **over: resolve_model(config(settings, environ, **over))


@pytest.mark.parametrize("servers", [{"providers": {"work": WORK}}, {"custom_providers": [{"name": "work", **WORK}]}])
@pytest.mark.parametrize(
    ("model", "over", "expected"),
    [
        ({"provider": "work", "default": "m"}, {}, "m"),
        ({"provider": "custom:work", "default": "m"}, {}, "m"),
        ({"provider": " Work", "default": "m"}, {}, "m"),
        ({"provider": "work"}, {}, "work-model"),
        ({"default": "work:m"}, {}, "m"),
        ({"provider": "openai", "default": "gpt-x"}, {"provider": "work"}, "work-model"),
        ({"provider": "openai", "default": "gpt-x"}, {"model": "work:m"}, "m"),
        ({"provider": "openai", "default": "gpt-x"}, {"model": "custom:work:m"}, "m"),
    ],
)
def test_a_server_is_chosen_by_the_name_that_the_user_gave_it(resolve, servers, model, over, expected):
    choice = resolve({**servers, "model": model}, **over)
    assert (choice.provider, choice.model, choice.base_url, choice.api_key) == ("work", expected, GATEWAY, "work-key")


def test_upstreams_names_for_a_servers_values_are_understood(resolve):
    entry = {
        "api": GATEWAY,
        "transport": "anthropic_messages",
        "default_model": "m",
        "key_env": "WORK_KEY",
        "name": None,
    }
    choice = resolve({"providers": {"work": entry}, "model": {"provider": "work"}}, {"WORK_KEY": "k"})
    assert (choice.base_url, choice.api_mode, choice.model, choice.api_key) == (
        GATEWAY,
        "anthropic_messages",
        "m",
        "k",
    )


def test_everything_that_an_entry_says_comes_with_the_choice(resolve):
    entry = {**WORK, "headers": {"X-Team": "a"}, "context_length": 7, "max_tokens": 8, "stall_timeout": 9}
    choice = resolve({"providers": {"work": entry}, "model": {"provider": "work"}})
    assert (choice.context_length, choice.max_tokens, choice.stall_after) == (7, 8, 9)
    assert choice.headers == (("X-Team", "a"),)


def test_the_models_own_values_go_before_its_servers(resolve):
    settings = {"provider": "work", "max_tokens": 1, "headers": {"x-team": "mine"}, "api_mode": "codex_responses"}
    entry = {**WORK, "headers": {"X-Team": "theirs", "X-More": "1"}, "max_tokens": 8, "api_mode": "chat_completions"}
    choice = resolve({"providers": {"work": entry}, "model": {**settings, "base_url": f"{GATEWAY}/"}})
    assert (choice.max_tokens, choice.api_mode) == (1, "codex_responses")
    assert choice.headers == (("x-team", "mine"), ("X-More", "1"))


def test_an_entry_under_a_services_name_overrides_its_values(resolve):
    settings = {
        "providers": {"openai": {"base_url": GATEWAY, "api_key": "gateway-key"}},
        "model": {"provider": "openai", "default": "gpt-5"},
    }
    choice = resolve(settings, {"OPENAI_API_KEY": "env-openai"})
    assert (choice.provider, choice.base_url, choice.api_key) == ("openai", GATEWAY, "gateway-key")
    assert choice.api_mode == "chat_completions"
    assert not choice.dialect.developer_role


def test_a_services_variable_does_not_go_to_the_gateway_that_stands_for_it(resolve):
    settings = {"providers": {"openai": {"base_url": GATEWAY}}, "model": {"provider": "openai", "default": "m"}}
    with pytest.raises(AuthRequired, match="no key for openai at https://gateway"):
        resolve(settings, {"OPENAI_API_KEY": "env-openai"})


def test_an_entry_without_an_address_under_an_alias_is_about_the_service(resolve):
    settings = {"providers": {"kimi": {"api_key": "k"}}, "model": {"provider": "moonshot", "default": "kimi-k2.6"}}
    choice = resolve(settings)
    assert (choice.base_url, choice.api_key) == ("https://api.moonshot.ai/v1", "k")


def test_an_entry_without_an_address_asks_for_one(resolve):
    with pytest.raises(SettingsError, match=r"providers\.work\.base_url"):
        resolve({"providers": {"work": {"api_key": "k"}}, "model": {"provider": "work", "default": "m"}})


def test_an_entry_without_a_model_asks_for_one(resolve):
    with pytest.raises(AuthRequired, match="'work' is chosen, but no model"):
        resolve({"providers": {"work": {"base_url": GATEWAY}}, "model": {"provider": "work"}})


def test_the_headers_of_one_server_do_not_go_to_another(resolve):
    entry = {**WORK, "headers": {"Authorization": "secret"}}
    assert resolve({"providers": {"work": entry}, "model": {"provider": "work"}}, base_url=OTHER).headers == ()


@pytest.mark.parametrize(
    ("written", "environ", "keys"),
    [
        ({"api_key": "a", "api_keys": ["b", " a ", "", "c"]}, {}, ("a", "b", "c")),
        ({"api_keys": ["b", "c"]}, {}, ("b", "c")),
        ({"api_key": "${ONE}", "key_env": "TWO"}, {"ONE": "1", "TWO": "2"}, ("1", "2")),
        ({"api_key": "Token ${ONE}"}, {"ONE": "1"}, ("Token 1",)),
        ({"api_key": "${ONE}", "api_keys": ["b"]}, {}, ("b",)),
        ({"api_key": " "}, {}, ()),
    ],
)
@pytest.mark.parametrize("where", ["server", "model"])
def test_all_keys_of_a_server_are_found_once_each_in_order(resolve, written, environ, keys, where):
    entry = {"base_url": GATEWAY, **(written if where == "server" else {})}
    model = {"provider": "work", "default": "m", **(written if where == "model" else {})}
    choice = resolve({"providers": {"work": entry}, "model": model}, environ)
    assert ((choice.api_key, *choice.spare_keys) if choice.api_key else ()) == keys


@pytest.mark.parametrize("written", [{"api_key": "${WORK_KEY}"}, {"key_env": "WORK_KEY"}])
def test_a_variable_that_is_named_for_a_key_and_is_not_set_is_told(resolve, home, written):
    with pytest.raises(AuthRequired, match="WORK_KEY, which is not set") as caught:
        resolve(
            {"providers": {"work": {"base_url": GATEWAY, **written}}, "model": {"provider": "work", "default": "m"}}
        )
    assert str(home / ".env") in caught.value.public


def test_a_key_of_the_models_settings_is_not_that_of_another_server_on_the_same_host(resolve):
    settings = {
        "providers": {
            "a": {"base_url": GATEWAY, "model": "m"},
            "b": {"base_url": GATEWAY, "model": "m", "api_key": "b"},
        },
        "model": {"provider": "a", "api_key": "a"},
    }
    assert resolve(settings).api_key == "a"
    assert resolve(settings, provider="b").api_key == "b"


@pytest.mark.parametrize(
    "servers",
    [
        {"custom_providers": [{"name": "Work", "base_url": 7, "api_key": "very-secret"}]},
        {"providers": {"work": {"base_url": 7, "api_key": "very-secret"}}},
    ],
)
def test_a_wrong_entry_is_an_error_only_when_it_is_chosen(config, servers):
    loaded = config({**servers, "model": {"provider": "ollama", "default": "m"}})
    assert resolve_model(loaded).provider == "ollama"
    with pytest.raises(SettingsError, match=r"'work' cannot be used: .*base_url = 7") as caught:
        resolve_named(loaded, "work", "m")
    assert "very-secret" not in caught.value.public + "".join(loaded.warnings)


def test_a_wrong_entry_under_a_services_name_does_not_send_its_requests_to_the_service(resolve):
    settings = {"providers": {"openai": {"base_url": "gateway"}}, "model": {"provider": "openai", "default": "m"}}
    with pytest.raises(SettingsError, match="base_url = 'gateway'"):
        resolve(settings, {"OPENAI_API_KEY": "k"})


def test_a_session_finds_its_named_server_again(config):
    loaded = config({"providers": {"work": WORK}, "model": {"provider": "ollama", "default": "m"}})
    first = resolve_named(loaded, None, "work:other-model")
    again = resolve_named(loaded, first.provider, first.model)
    assert (again.provider, again.model, again.base_url, again.api_key) == (
        "work",
        "other-model",
        GATEWAY,
        "work-key",
    )
    assert again.source == "session"


@pytest.mark.parametrize(
    ("provider", "model", "base_url", "expected"),
    [
        (None, "other", None, ("ollama", "other", "http://127.0.0.1:11434/v1")),
        (None, None, None, ("ollama", "m", "http://127.0.0.1:11434/v1")),
        (None, "other", GATEWAY, ("custom", "other", GATEWAY)),
        ("auto", "", "", ("ollama", "m", "http://127.0.0.1:11434/v1")),
        ("lmstudio", "other", None, ("lmstudio", "other", "http://127.0.0.1:1234/v1")),
        ("offline", None, None, ("offline", "offline", "")),
    ],
)
def test_what_a_name_leaves_open_is_as_the_settings_have_it(config, provider, model, base_url, expected):
    choice = resolve_named(config({"model": {"provider": "ollama", "default": "m"}}), provider, model, base_url)
    assert (choice.provider, choice.model, choice.base_url) == expected


def test_fallbacks_are_found_in_order_without_the_primary_and_repetitions(config):
    loaded = config(
        {
            "providers": {"work": WORK},
            "model": {"provider": "ollama", "default": "m"},
            "fallback_providers": [
                {"provider": "ollama", "model": "m"},
                {"provider": "work"},
                "lmstudio:small",
                {"provider": "work", "model": "work-model"},
                {"model": "bigger"},
                {"provider": "custom", "model": "c", "base_url": OTHER, "api_key": "other-key"},
            ],
        }
    )
    found, problems = resolve_fallbacks(loaded, resolve_model(loaded))
    assert [choice.name for choice in found] == ["work:work-model", "lmstudio:small", "ollama:bigger", "custom:c"]
    assert [choice.api_key for choice in found] == ["work-key", None, None, "other-key"]
    assert found[1].source == "fallback_providers.2"
    assert problems == ()


def test_a_fallback_that_cannot_be_used_is_left_out_and_reported(config):
    loaded = config(
        {
            "model": {"provider": "ollama", "default": "m"},
            "fallback_providers": [
                {"provider": "anthropic", "model": "claude-x"},
                {"provider": "nobody", "model": "x"},
                {"provider": "lmstudio", "model": "small"},
            ],
        }
    )
    found, problems = resolve_fallbacks(loaded, resolve_model(loaded))
    assert [choice.name for choice in found] == ["lmstudio:small"]
    assert len(problems) == 2
    assert "fallback_providers.0 (anthropic:claude-x)" in problems[0]
    assert "ANTHROPIC_API_KEY" in problems[0]
    assert "'nobody' is not known" in problems[1]


def test_the_key_of_the_first_model_does_not_go_to_its_fallbacks(config):
    loaded = config(
        {
            "model": {"provider": "openai", "default": "m", "api_key": "secret"},
            "fallback_providers": [
                {"provider": "custom", "model": "c", "base_url": OTHER},
                {"provider": "openai", "model": "n", "base_url": GATEWAY},
                {"provider": "openai", "model": "n"},
            ],
        }
    )
    found, problems = resolve_fallbacks(loaded, resolve_model(loaded))
    assert [(choice.base_url, choice.api_key) for choice in found] == [
        (OTHER, None),
        ("https://api.openai.com/v1", "secret"),
    ]
    assert len(problems) == 1
    assert "secret" not in repr(found) + "".join(problems)
