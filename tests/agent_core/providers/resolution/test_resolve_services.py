"""The services of the catalog as the settings choose them: names, addresses, protocols, keys, patience, facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import Overrides, load
from agent_core.errors import AuthRequired, SettingsError
from agent_core.home import Home
from agent_core.providers.catalog import SERVICES
from agent_core.providers.choice import vertex_place
from agent_core.providers.resolve import resolve_model
from tests.support.each import each
from tests.support.settings_files import configure

LOCAL = "http://127.0.0.1:11434/v1"
ALL_KEYS = {name: f"key-of-{name}" for service in SERVICES.values() for name in service.keys}


@pytest.fixture
def resolve(home: Path):
    def resolve(settings, environ=None, **over):
        configure(home, {"model": settings})
        return resolve_model(load(Home(home), Overrides(**over), environ or {}))

    return resolve


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service.base_url])
def test_a_service_is_asked_at_its_own_address_with_the_first_key_of_its_own(resolve, name):
    service = SERVICES[name]
    choice = resolve({"default": "m", "provider": name}, ALL_KEYS)
    assert (choice.provider, choice.base_url) == (name, service.base_url)
    assert choice.api_key == (ALL_KEYS[service.keys[0]] if service.keys else None)
    assert choice.spare_keys == ()
    assert choice.headers == service.headers


def test_the_second_variable_of_a_service_counts_where_the_first_is_not_set(resolve):
    environ = {"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "second"}
    assert resolve({"default": "m", "provider": "gemini"}, environ).api_key == "second"


@pytest.mark.parametrize(
    ("environ", "base_url", "key"),
    [
        ({"HERMES_PROVIDER": "openai", "OPENAI_BASE_URL": "https://p.example/v1/"}, "https://p.example/v1", "k"),
        ({"HERMES_PROVIDER": "OpenAI", "OPENAI_BASE_URL": LOCAL}, LOCAL, "k"),
        ({"HERMES_PROVIDER": "openai", "OPENAI_BASE_URL": " "}, "https://api.openai.com/v1", "k"),
        ({"HERMES_PROVIDER": "openai", "OPENAI_BASE_URL": LOCAL, "HERMES_BASE_URL": "https://o.example/v1"},
         "https://o.example/v1", None),
        # Nobody said that it is about this provider: the variable may be another program's.
        ({"OPENAI_BASE_URL": "https://proxy.example/v1"}, "https://api.openai.com/v1", "k"),
    ],
)  # fmt: skip
def test_openai_base_url_counts_where_the_environment_names_openai(resolve, environ, base_url, key):
    environ = {"HERMES_MODEL": "m", "OPENAI_API_KEY": "k", **environ}
    if key is None:
        with pytest.raises(AuthRequired, match=r"no key for openai at https://o\.example"):
            resolve({"provider": "openai", "default": "m"}, environ)
        return
    choice = resolve({"provider": "openai", "default": "m"}, environ)
    assert (choice.provider, choice.base_url, choice.api_key) == ("openai", base_url, key)


def test_the_openai_key_does_not_go_over_a_plain_line_to_the_address_of_openai_base_url(resolve):
    environ = {"HERMES_PROVIDER": "openai", "OPENAI_BASE_URL": "http://far.example/v1", "OPENAI_API_KEY": "k"}
    with pytest.raises(AuthRequired, match=r"no key for openai at http://far\.example"):
        resolve({"default": "m"}, environ)


@pytest.mark.parametrize("name", ["ollama", "lmstudio", "vllm", "llamacpp", "codex"])
def test_some_services_need_no_key(resolve, name):
    assert resolve({"default": "m", "provider": name}).api_key is None


@pytest.mark.parametrize("provider", ["claude", "anthropic"])
def test_an_alias_is_the_service(resolve, provider):
    choice = resolve({"default": "claude-sonnet-4-6", "provider": provider}, ALL_KEYS)
    assert (choice.provider, choice.api_mode, choice.dialect.auth) == ("anthropic", "anthropic_messages", "x-api-key")


def test_a_provider_in_the_models_name_is_taken_from_it(resolve):
    choice = resolve({"default": "claude:claude-sonnet-4-6"}, ALL_KEYS)
    assert (choice.provider, choice.model) == ("anthropic", "claude-sonnet-4-6")
    assert choice.requested == "claude:claude-sonnet-4-6"
    assert choice.name == "anthropic:claude-sonnet-4-6"


@pytest.mark.parametrize(
    ("settings", "over", "provider", "model"),
    [
        ({"provider": "openai", "default": "m"}, {"model": "anthropic:claude-x"}, "anthropic", "claude-x"),
        ({"provider": "openai", "default": "m"}, {"model": "qwen:qwen-max"}, "qwen", "qwen-max"),
        ({"provider": "ollama", "default": "m"}, {"model": "qwen:7b"}, "ollama", "qwen:7b"),
        ({"provider": "ollama", "default": "qwen:7b"}, {}, "ollama", "qwen:7b"),
        ({"provider": "ollama", "default": "ollama:qwen3:8b"}, {}, "ollama", "qwen3:8b"),
        ({"provider": "openai", "default": "m"}, {"provider": "ollama", "model": "qwen:7b"}, "ollama", "qwen:7b"),
        ({"provider": "openai", "default": "anthropic:x"}, {}, "openai", "anthropic:x"),
        ({"base_url": LOCAL, "default": "mistral:7b"}, {}, "custom", "mistral:7b"),
        ({"default": "anthropic:claude-x"}, {"provider": "openrouter"}, "openrouter", "claude-x"),
        ({"provider": "auto", "default": "anthropic:claude-x"}, {}, "anthropic", "claude-x"),
        ({"provider": "openrouter", "default": "openai/gpt-5:free"}, {}, "openrouter", "openai/gpt-5:free"),
    ],
)
def test_a_colon_in_a_models_name_is_read_by_what_stands_beside_it(resolve, settings, over, provider, model):
    choice = resolve(settings, ALL_KEYS, **over)
    assert (choice.provider, choice.model) == (provider, model)


def test_an_address_belongs_to_the_provider_that_it_was_given_with(resolve):
    settings = {"default": "m", "provider": "custom", "base_url": LOCAL}
    environ = {**ALL_KEYS, "HERMES_BASE_URL": "https://gateway.example/v1"}
    assert resolve(settings, environ, model="anthropic:claude-x").base_url == "https://api.anthropic.com"
    assert resolve(settings, environ, provider="custom").base_url == "https://gateway.example/v1"
    assert resolve(settings, environ).base_url == "https://gateway.example/v1"


@pytest.mark.parametrize(
    ("settings", "mode"),
    [
        ({"provider": "openai", "default": "gpt-5"}, "codex_responses"),
        ({"provider": "openai", "default": "gpt-4.1"}, "chat_completions"),
        ({"provider": "openai", "default": "gpt-5", "api_mode": "chat_completions"}, "chat_completions"),
        ({"base_url": "https://gateway.example/anthropic", "default": "m"}, "anthropic_messages"),
        (
            {"base_url": "https://gateway.example/v1", "default": "m", "api_mode": "codex_responses"},
            "codex_responses",
        ),
    ],
)
def test_the_protocol_is_resolved(resolve, settings, mode):
    assert resolve(settings, ALL_KEYS).api_mode == mode


def test_the_protocol_of_the_settings_is_that_of_their_provider_only(resolve):
    settings = {"provider": "openai", "default": "gpt-4.1", "api_mode": "codex_responses"}
    assert resolve(settings, ALL_KEYS, provider="openrouter").api_mode == "chat_completions"
    assert resolve(settings, ALL_KEYS, model="gpt-4o").api_mode == "codex_responses"


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"provider": "ollama", "default": "gpt-oss:20b"}, 900),
        ({"base_url": "http://192.168.1.5:8000/v1", "default": "m"}, 900),
        ({"base_url": "https://gateway.example/v1", "default": "m"}, 180),
        ({"base_url": "https://gateway.example/v1", "default": "deepseek-r1"}, 600),
        ({"provider": "openai", "default": "gpt-4.1"}, 180),
        ({"provider": "openai", "default": "o3"}, 600),
        ({"provider": "ollama", "default": "m", "stall_timeout": 12.5}, 12.5),
    ],
)
def test_patience_depends_on_where_a_model_is_and_whether_it_thinks(resolve, settings, seconds):
    assert resolve(settings, ALL_KEYS).stall_after == seconds


def test_what_is_known_of_a_model_comes_with_the_choice(resolve):
    choice = resolve({"provider": "anthropic", "default": "claude-sonnet-4-6"}, ALL_KEYS)
    assert choice.facts.source
    assert choice.context_length == choice.facts.context_length
    assert choice.context_length is not None


def test_the_users_window_goes_before_the_known_one_and_is_for_their_model_only(resolve):
    settings = {"provider": "anthropic", "default": "claude-sonnet-4-6", "context_length": 6}
    assert resolve(settings, ALL_KEYS).context_length == 6
    other = resolve(settings, ALL_KEYS, model="claude-opus-4-6")
    assert other.context_length == other.facts.context_length


def test_nothing_is_known_of_a_model_on_the_users_machine(resolve):
    assert resolve({"provider": "ollama", "default": "gpt-4.1"}).facts.source == ""


def test_a_compatible_server_at_a_services_address_is_that_service(resolve):
    choice = resolve({"base_url": "https://api.deepseek.com/v1", "default": "deepseek-chat"}, ALL_KEYS)
    assert (choice.provider, choice.api_key) == ("custom", "key-of-DEEPSEEK_API_KEY")
    assert choice.dialect.reasoning_back == "reasoning_content"


def test_the_key_for_compatible_servers_does_not_go_to_another_service(resolve):
    settings = {"base_url": "https://api.groq.com/openai/v1", "default": "m"}
    assert resolve(settings, {"OPENAI_API_KEY": "env-openai"}).api_key is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"provider": "azure", "default": "m"}, r"model\.base_url to https://RESOURCE\.openai\.azure\.com/openai/v1"),
        ({"provider": "custom", "default": "m"}, r"model\.base_url.*127\.0\.0\.1:11434"),
    ],
)
def test_a_provider_whose_address_only_the_user_knows_asks_for_it(resolve, settings, said):
    with pytest.raises(SettingsError, match=said):
        resolve(settings, ALL_KEYS)


def test_azures_key_goes_to_azure_only(resolve):
    settings = {"provider": "azure", "default": "m"}
    mine = resolve({**settings, "base_url": "https://mine.openai.azure.com/openai/v1"}, ALL_KEYS)
    assert (mine.api_key, mine.dialect.auth) == ("key-of-AZURE_OPENAI_API_KEY", "api-key")
    with pytest.raises(AuthRequired):
        resolve({**settings, "base_url": "https://openai.azure.com.evil.example/openai/v1"}, ALL_KEYS)


@pytest.mark.parametrize(
    ("environ", "base_url"),
    [
        ({"AWS_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        ({"AWS_DEFAULT_REGION": "us-west-2"}, "https://bedrock-runtime.us-west-2.amazonaws.com"),
        ({}, ""),
    ],
)
def test_bedrock_is_asked_in_the_users_region_with_or_without_a_key(resolve, environ, base_url):
    settings = {"provider": "bedrock", "default": "anthropic.claude-x"}
    choice = resolve(settings, environ)
    assert (choice.base_url, choice.api_key, choice.api_mode) == (base_url, None, "bedrock_converse")
    assert resolve(settings, {**environ, "AWS_BEARER_TOKEN_BEDROCK": "k"}).api_key == "k"


def test_a_key_that_was_given_for_another_provider_does_not_go_to_one_without_an_address(resolve):
    settings = {"provider": "azure", "default": "m", "api_key": "azure-key"}
    assert resolve(settings, model="bedrock:anthropic.claude-x").api_key is None


@pytest.mark.parametrize(
    ("provider", "sign_in", "api_mode"),
    [
        ("entra", "entra", "chat_completions"),
        ("claude-vertex", "google", "anthropic_messages"),
        ("claude-bedrock", "aws", "anthropic_messages"),
        ("claude-foundry", "entra", "anthropic_messages"),
    ],
)
def test_a_clouds_sign_in_needs_no_key_and_is_asked_through_the_vendors_sdk(resolve, provider, sign_in, api_mode):
    choice = resolve({"default": "m", "provider": provider, "base_url": "https://gateway.example"})
    assert (choice.sign_in, choice.transport, choice.api_mode, choice.api_key) == (sign_in, "sdk", api_mode, None)


@pytest.mark.parametrize(
    ("provider", "environ", "address"),
    [
        ("anthropic-vertex", {}, "https://aiplatform.googleapis.com/v1"),
        (
            "anthropic-vertex",
            {"ANTHROPIC_VERTEX_PROJECT_ID": "p", "GOOGLE_CLOUD_PROJECT": "other", "CLOUD_ML_REGION": "us-east5"},
            "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5",
        ),
        (
            "anthropic-vertex",
            {"GOOGLE_CLOUD_PROJECT": "p", "CLOUD_ML_REGION": "eu"},
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu",
        ),
        ("anthropic-bedrock", {"AWS_REGION": "eu-west-3"}, "https://bedrock-runtime.eu-west-3.amazonaws.com"),
        ("anthropic-bedrock", {}, ""),
        ("anthropic-foundry", {"ANTHROPIC_FOUNDRY_RESOURCE": "r"}, "https://r.services.ai.azure.com/anthropic"),
    ],
)
def test_a_clouds_address_is_made_of_what_the_environment_says(resolve, provider, environ, address):
    assert resolve({"default": "m", "provider": provider}, environ).base_url == address


def test_the_region_alone_is_kept_where_only_the_sign_in_knows_the_project(resolve):
    choice = resolve({"default": "m", "provider": "vertex"}, {"CLOUD_ML_REGION": "us-east5"})
    assert vertex_place(choice.base_url) == ("https://us-east5-aiplatform.googleapis.com/v1", "", "us-east5")


@pytest.mark.parametrize(
    ("provider", "said"), [("azure-entra", "RESOURCE.openai.azure.com"), ("foundry", "ANTHROPIC_FOUNDRY_RESOURCE")]
)
def test_a_clouds_address_that_only_the_person_knows_is_asked_for(resolve, provider, said):
    with pytest.raises(SettingsError, match=said):
        resolve({"default": "m", "provider": provider})


@pytest.mark.parametrize(("written", "meant"), [("sdk", "sdk"), ("http", "http"), (None, "http")])
def test_the_transport_of_the_settings_counts(resolve, written, meant):
    choice = resolve({"default": "m", "base_url": LOCAL, "transport": written})
    assert (choice.transport, choice.api_mode, choice.sign_in) == (meant, "chat_completions", None)


def test_our_own_http_is_refused_where_only_the_sdk_signs_in(resolve):
    with pytest.raises(SettingsError, match=r"vendor's SDK alone.*transport: http"):
        resolve({"default": "m", "provider": "vertex", "transport": "http"})


OPENAI = {"HERMES_PROVIDER": "openai", "HERMES_MODEL": "m", "OPENAI_BASE_URL": f"{LOCAL}/", "OPENAI_API_KEY": "k"}


@each(
    ("settings", "environ", "address"),
    [
        ({"provider": "openai", "default": "m"}, {"OPENAI_BASE_URL": LOCAL, "OPENAI_API_KEY": "k"}, None),
        ({"provider": "ollama", "default": "m"}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, LOCAL),
        ({"provider": "groq", "default": "m"}, {**OPENAI, "HERMES_PROVIDER": "groq", "GROQ_API_KEY": "g"}, None),
    ],
)
def test_it_displaces_no_other_choice(resolve, settings, environ, address):
    expected = address or SERVICES[settings["provider"]].base_url
    assert resolve(settings, environ).base_url == expected


def test_openais_key_goes_to_no_address_that_only_the_settings_name(resolve):
    settings = {"provider": "openai", "default": "m", "base_url": "https://gateway.example/v1"}
    with pytest.raises(AuthRequired, match=r"gateway\.example"):
        resolve(settings, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://other.example/v1"})
