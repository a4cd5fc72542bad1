"""The model behind the settings file: what upstream writes is understood, and nothing secret is shown."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_core.settings.model import FallbackModel, NamedServer, Settings, normalized
from tests.support.each import each

SECRET = "sk-very-secret-0123456789"


@each(
    ("written", "meant"),
    [
        ("high", "high"),
        (" XHigh ", "xhigh"),
        ("none", "none"),
        (False, "none"),
        ("", None),
        (None, None),
    ],
)
def test_every_way_to_write_an_effort_is_understood(written, meant):
    assert Settings.model_validate({"agent": {"reasoning_effort": written}}).agent.reasoning_effort == meant


@pytest.mark.parametrize("wrong", ["huge", True, 3])
def test_an_effort_that_there_is_not_is_refused(wrong):
    with pytest.raises(ValidationError):
        Settings.model_validate({"agent": {"reasoning_effort": wrong}})


@pytest.mark.parametrize(
    ("written", "meant"), [("", None), ("  ", None), (" https://a.example/v1/ ", "https://a.example/v1")]
)
def test_an_address_without_anything_in_it_is_none(written, meant):
    assert Settings.model_validate({"model": {"base_url": written}}).model.base_url == meant


def test_the_keys_of_a_server_are_the_single_one_then_the_others_once_each():
    server = NamedServer(api_key=" a ", api_keys=("b", "", "a", "c", "b"))
    assert server.keys == ("a", "b", "c")
    assert NamedServer().keys == ()


@pytest.mark.parametrize(
    ("written", "transport", "api_mode"),
    [
        ({"transport": "sdk"}, "sdk", None),
        ({"transport": "codex_responses"}, None, "codex_responses"),
        ({"transport": "chat_completions", "api_mode": "anthropic_messages"}, None, "anthropic_messages"),
        ({"transport": "sdk", "api_mode": "anthropic_messages"}, "sdk", "anthropic_messages"),
    ],
)
def test_a_transport_is_ours_or_upstreams_name_for_the_protocol(written, transport, api_mode):
    server = NamedServer.model_validate(written)
    assert (server.transport, server.api_mode) == (transport, api_mode)


def test_a_transport_that_there_is_not_is_refused():
    with pytest.raises(ValidationError, match="transport"):
        NamedServer.model_validate({"transport": "pigeons"})


def test_our_name_for_a_value_goes_before_upstreams():
    server = NamedServer.model_validate({"api": "https://old.example", "base_url": "https://new.example"})
    assert server.base_url == "https://new.example"


@pytest.mark.parametrize(
    "written",
    [
        {"fallback_model": {"provider": "openai", "model": "m"}},
        {"fallback_model": [{"provider": "openai", "model": "m"}]},
        {"fallback_providers": [{"provider": "openai", "model": "m"}]},
        {"fallback_providers": [{"provider": "openai", "model": "m"}], "fallback_model": {"model": "old"}},
    ],
)
def test_the_old_form_of_a_fallback_is_understood_where_there_is_no_new_one(written):
    assert Settings.model_validate(written).fallback_providers == (FallbackModel(provider="openai", model="m"),)


@pytest.mark.parametrize("empty", [None, {}, "", []])
def test_an_empty_old_fallback_is_none(empty):
    assert Settings.model_validate({"fallback_model": empty}).fallback_providers == ()


def test_a_fallback_may_be_a_name_alone():
    settings = Settings.model_validate({"fallback_providers": ["ollama:qwen3:8b"]})
    assert settings.fallback_providers[0].model == "ollama:qwen3:8b"


def test_what_upstream_writes_for_a_side_task_is_understood():
    written = {"provider": "auto", "model": "", "base_url": "", "api_key": "", "timeout": 120, "extra_body": {}}
    task = Settings.model_validate({"auxiliary": {"vision": written}}).auxiliary["vision"]
    assert (task.provider, task.base_url, task.keys, task.timeout) == ("auto", None, (), 120)


def test_settings_in_their_own_form_stay_as_they_are():
    written = {"model": {"default": "m"}, "fallback_providers": [{"model": "x"}], "other": 1}
    assert normalized(normalized(written)) == normalized(written) == written


@pytest.mark.parametrize(
    "written",
    [
        {"model": {"api_key": SECRET, "api_keys": [SECRET], "headers": {"Authorization": SECRET}}},
        {"providers": {"work": {"api_key": SECRET, "headers": {"X": SECRET}}}},
        {"fallback_providers": [{"model": "m", "api_key": SECRET}]},
        {"auxiliary": {"title": {"api_key": SECRET}}},
    ],
)
def test_settings_that_are_printed_show_no_key(written):
    assert SECRET not in repr(Settings.model_validate(written))


def test_an_error_that_is_logged_shows_no_input():
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"model": {"api_key": [SECRET], "headers": SECRET}})
    assert SECRET not in str(caught.value)
