"""Which model is asked, where and with which key."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import Overrides, load
from agent_core.errors import AuthRequired, SettingsError
from agent_core.home import Home
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.http_provider import HttpProvider
from agent_core.providers.offline import OfflineProvider
from agent_core.providers.resolve import resolve_model
from tests.support.settings_files import configure

LOCAL = "http://127.0.0.1:11434/v1"
OPENAI = "https://api.openai.com/v1"
ENVIRONMENT_KEYS = {"OPENAI_API_KEY": "env-openai", "OPENROUTER_API_KEY": "env-openrouter"}


@pytest.fixture
def resolve(home: Path):
    def resolve(settings=None, environ=None, **over):
        if settings is not None:
            configure(home, {"model": settings})
        return resolve_model(load(Home(home), Overrides(**over), environ or {}))

    return resolve


SETTINGS = {"default": "from-config", "provider": "openai", "api_key": "config-key"}


@pytest.mark.parametrize(
    ("over", "environ", "model", "source"),
    [
        ({"model": "from-line"}, {"HERMES_MODEL": "from-env"}, "from-line", "command line"),
        ({}, {"HERMES_MODEL": "from-env"}, "from-env", "HERMES_MODEL"),
        ({}, {"HERMES_MODEL": "  "}, "from-config", "config.yaml"),
        ({}, {}, "from-config", "config.yaml"),
    ],
)
def test_the_model_is_that_of_the_command_line_else_of_the_environment_else_of_the_settings(
    resolve, over, environ, model, source
):
    choice = resolve(SETTINGS, environ, **over)
    assert choice.model == model
    assert choice.source.endswith(source)


@pytest.mark.parametrize(
    ("over", "environ", "base_url"),
    [
        ({"base_url": "http://line:1/v1"}, {"HERMES_BASE_URL": "http://env:2/v1"}, "http://line:1/v1"),
        ({}, {"HERMES_BASE_URL": "http://env:2/v1/"}, "http://env:2/v1"),
        ({}, {}, LOCAL),
    ],
)
def test_the_address_follows_the_same_order(resolve, over, environ, base_url):
    assert resolve({"default": "m", "provider": "custom", "base_url": LOCAL}, environ, **over).base_url == base_url


@pytest.mark.parametrize(
    ("over", "environ", "provider"),
    [
        ({"provider": "openrouter"}, {"HERMES_PROVIDER": "custom"}, "openrouter"),
        ({}, {"HERMES_PROVIDER": "OpenRouter "}, "openrouter"),
        ({}, {}, "openai"),
    ],
)
def test_the_provider_follows_the_same_order(resolve, over, environ, provider):
    assert resolve(SETTINGS, {**ENVIRONMENT_KEYS, **environ}, **over).provider == provider


def test_an_address_alone_means_a_compatible_server(resolve):
    choice = resolve({"default": "m", "base_url": LOCAL})
    assert (choice.provider, choice.base_url, choice.api_key) == ("custom", LOCAL, None)


@pytest.mark.parametrize(
    ("api_key", "environ", "key"),
    [
        ("config-key", ENVIRONMENT_KEYS, "config-key"),
        (None, ENVIRONMENT_KEYS, "env-openai"),
        (None, {"OPENAI_API_KEY": ""}, None),
        (None, {}, None),
    ],
)
def test_the_key_of_a_compatible_server(resolve, api_key, environ, key):
    choice = resolve({"default": "m", "provider": "custom", "base_url": LOCAL, "api_key": api_key}, environ)
    assert choice.api_key == key


@pytest.mark.parametrize(
    ("provider", "base_url", "key"),
    [
        ("openai", OPENAI, "env-openai"),
        ("openrouter", "https://openrouter.ai/api/v1", "env-openrouter"),
        ("OpenRouter", "https://openrouter.ai/api/v1", "env-openrouter"),
    ],
)
def test_a_known_provider_has_its_address_and_its_own_variable(resolve, provider, base_url, key):
    choice = resolve({"default": "m", "provider": provider}, ENVIRONMENT_KEYS)
    assert (choice.base_url, choice.api_key, choice.api_mode) == (base_url, key, "chat_completions")


def test_a_configured_key_goes_before_the_environments(resolve):
    assert resolve(SETTINGS, ENVIRONMENT_KEYS).api_key == "config-key"


@pytest.mark.parametrize(
    "elsewhere",
    ["http://other:11434/v1", "http://127.0.0.1:1/v1", "https://127.0.0.1:11434/v1", "http://x@evil:11434/v1"],
    ids=["host", "port", "scheme", "user"],
)
@pytest.mark.parametrize("by", ["command line", "environment"])
def test_a_configured_key_is_sent_to_no_other_server(resolve, elsewhere, by):
    settings = {"default": "m", "provider": "custom", "base_url": LOCAL, "api_key": "config-key"}
    if by == "command line":
        choice = resolve(settings, base_url=elsewhere)
    else:
        choice = resolve(settings, {"HERMES_BASE_URL": elsewhere})
    assert (choice.base_url, choice.api_key) == (elsewhere, None)


def test_a_configured_key_without_an_address_is_for_its_provider_only(resolve):
    assert resolve(SETTINGS).api_key == "config-key"
    assert resolve(None, provider="custom", base_url=LOCAL).api_key is None
    with pytest.raises(AuthRequired):
        resolve(None, provider="openrouter")
    with pytest.raises(AuthRequired):
        resolve(None, base_url="http://127.0.0.1:1/v1")


def test_a_providers_variable_is_not_sent_to_another_address(resolve):
    with pytest.raises(AuthRequired, match="there is no key for openrouter at https://gateway"):
        resolve(
            {"default": "m", "provider": "openrouter", "base_url": "https://gateway.example/v1"}, ENVIRONMENT_KEYS
        )


def test_the_address_of_the_settings_is_not_that_of_another_provider(resolve):
    settings = {"default": "m", "provider": "custom", "base_url": LOCAL, "api_key": "config-key"}
    choice = resolve(settings, ENVIRONMENT_KEYS, provider="openrouter")
    assert (choice.base_url, choice.api_key) == ("https://openrouter.ai/api/v1", "env-openrouter")


def test_a_vendors_key_in_the_environment_chooses_nothing(resolve):
    with pytest.raises(AuthRequired):
        resolve(None, ENVIRONMENT_KEYS)
    assert resolve({"default": "m", "base_url": LOCAL}, ENVIRONMENT_KEYS).provider == "custom"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            None,
            [
                "no model is configured",
                "model.provider",
                "model.default",
                "model.api_key",
                "docs/models.md",
                "--offline",
            ],
        ),
        ({"default": "m"}, ["the model 'm' is chosen, but not who serves it"]),
        ({"provider": "openai"}, ["'openai' is chosen, but no model", "model.default"]),
        ({"provider": "custom", "base_url": LOCAL}, ["no model", "model.default"]),
        ({"provider": "openai", "default": "m"}, ["no key for openai", OPENAI, "OPENAI_API_KEY", "model.api_key"]),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(resolve, model, said):
    with pytest.raises(AuthRequired) as caught:
        resolve(model)
    for part in said:
        assert part in caught.value.public
    # What to do comes first: clients show the beginning.
    assert caught.value.public.startswith(("Run `hermes-acp setup`", "Set OPENAI_API_KEY in "))
    assert caught.value.public != caught.value.cause in caught.value.public


def test_a_missing_key_names_the_files_that_it_can_be_put_in(resolve, home):
    with pytest.raises(AuthRequired) as caught:
        resolve({"provider": "openai", "default": "m"})
    assert str(home / ".env") in caught.value.public
    assert str(home / "config.yaml") in caught.value.public


def test_an_unknown_provider_is_told_with_those_that_are_known(resolve):
    with pytest.raises(SettingsError, match=r"'opnai' is not known.*openai.*openrouter.*custom.*offline"):
        resolve({"provider": "opnai", "default": "m"})


def test_a_compatible_server_needs_an_address(resolve):
    with pytest.raises(SettingsError, match=r"model\.base_url"):
        resolve({"provider": "custom", "default": "m"})


@pytest.mark.parametrize(
    "address",
    ["localhost:11434", "http://", "http://host:port/v1", "http://host:99999/v1", "http://[::1/v1", "file:///x"],
)
def test_an_address_that_is_none_is_told(resolve, address):
    with pytest.raises(SettingsError, match="cannot be used") as caught:
        resolve({"default": "m", "provider": "custom"}, {"HERMES_BASE_URL": address})
    assert address in caught.value.public


@pytest.mark.parametrize(
    ("settings", "environ", "over"),
    [
        ({"provider": "offline"}, {}, {}),
        ({"provider": "offline", "default": "offline"}, {}, {}),
        (SETTINGS, {}, {"model": "offline"}),
        (SETTINGS, {}, {"provider": "offline"}),
        (SETTINGS, {"HERMES_MODEL": "offline"}, {}),
        (SETTINGS, {"HERMES_PROVIDER": "offline"}, {}),
    ],
)
def test_the_offline_model_answers_when_it_is_asked_for(resolve, settings, environ, over):
    choice = resolve(settings, environ, **over)
    assert (choice.provider, choice.model) == ("offline", "offline")
    assert isinstance(make_provider(choice), OfflineProvider)


def test_the_offline_model_does_not_stand_in_for_another(resolve):
    with pytest.raises(SettingsError, match="offline has no model 'gpt-x'"):
        resolve({"provider": "offline"}, model="gpt-x")
    with pytest.raises(AuthRequired):
        resolve({})


def test_the_key_is_not_shown_when_a_choice_is_printed(resolve):
    assert "config-key" not in repr(resolve(SETTINGS))


def test_the_bounds_of_the_settings_come_with_the_choice(resolve):
    choice = resolve({**SETTINGS, "max_tokens": 5, "context_length": 6})
    assert (choice.max_tokens, choice.context_length) == (5, 6)


def test_a_provider_is_made_without_connecting(resolve):
    provider = make_provider(resolve({"default": "m", "base_url": "http://192.0.2.1/v1"}))
    assert isinstance(provider, HttpProvider)
    assert str(provider.choice.endpoint) == "custom (http://192.0.2.1/v1)"


@pytest.mark.parametrize("key", ["sk-first\nsk-second", "sk-abc\x00def", "sk-abc…", "sk-\u200babc"])
def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_show_it(resolve, key):
    with pytest.raises(SettingsError, match="cannot be sent") as caught:
        resolve({**SETTINGS, "api_key": key})
    assert "sk-" not in caught.value.public


def test_the_openai_key_is_not_sent_to_a_custom_server_in_the_open(resolve):
    address = "http://models.example/v1"
    choice = resolve({"default": "m", "base_url": address}, environ={"OPENAI_API_KEY": "sk-openai"})
    assert choice.api_key is None


@pytest.mark.parametrize(
    "address", ["https://h.example/v1?api-version=1", "https://h.example/v1#x", "http://ho\tst/v1"]
)
def test_an_address_that_no_path_can_be_added_to_is_refused(resolve, address):
    with pytest.raises(SettingsError, match="cannot be used"):
        resolve({"default": "m", "base_url": address})


@pytest.mark.parametrize("name", ["gpt\n5", "gpt\x005", "gpt\u200b5", "openai:gpt\r5", "gpt\u20285"])
@pytest.mark.parametrize("where", ["command line", "HERMES_MODEL", "config.yaml"])
def test_a_model_name_with_what_cannot_be_seen_is_refused_wherever_it_is_written(resolve, name, where):
    over = {"model": name} if where == "command line" else {}
    environ = {"HERMES_MODEL": name} if where == "HERMES_MODEL" else {}
    settings = {**SETTINGS, "default": name} if where == "config.yaml" else SETTINGS
    with pytest.raises(SettingsError, match="cannot be seen") as refused:
        resolve(settings, environ, **over)
    assert where in str(refused.value)
    assert str(refused.value).isprintable()


def test_blanks_around_a_model_name_are_no_part_of_it(resolve):
    assert resolve({**SETTINGS, "default": " gpt-5\n"}).model == "gpt-5"
