"""What servers said of their models, kept in the home."""

from __future__ import annotations

import json
import stat

import pytest

from agent_core.home import Home
from agent_core.providers.available_models import (
    FAILED_GOOD_FOR,
    FILE_NAME,
    GOOD_FOR,
    LOCAL_GOOD_FOR,
    ModelLists,
    OfferedModel,
)
from agent_core.providers.token_store import FILE_NAME as TOKENS
from agent_core.providers.token_store import OAuthToken, TokenStore
from tests.support.clock import Clock
from tests.support.sample_configuration import configuration

OPENAI = {"model": {"provider": "openai", "default": "gpt-5.1", "api_key": "k"}}
KEY = "openai https://api.openai.com/v1"
LOCAL = {"model": {"provider": "ollama", "default": "m"}}
LOCAL_KEY = "ollama http://127.0.0.1:11434/v1"
MODELS = (OfferedModel("gpt-5.1", 400_000, 1.25, 10.0), OfferedModel("new"))


def lists(home, clock=None):
    return ModelLists(Home(home), clock or Clock(1_000_000.0))


def names(found):
    return {provider.name: [model.name for model in provider.models] for provider in found}


def test_what_was_learned_is_offered_by_another_process_too(home):
    config = configuration(home, OPENAI)
    lists(home).learned({KEY: MODELS})
    (provider,) = lists(home).offered(config)
    assert provider.models == MODELS
    assert stat.S_IMODE((home / FILE_NAME).stat().st_mode) == 0o600


def test_the_same_is_made_once(home):
    kept, config = lists(home), configuration(home, OPENAI)
    assert kept.offered(config) is kept.offered(config)


def test_a_change_of_the_settings_and_what_is_learned_count_at_once(home):
    kept = lists(home)
    assert "new" not in names(kept.offered(configuration(home, OPENAI)))["openai"]
    kept.learned({KEY: MODELS})
    assert names(kept.offered(configuration(home, OPENAI)))["openai"] == ["gpt-5.1", "new"]
    assert list(names(kept.offered(configuration(home, LOCAL)))) == ["ollama"]


def test_a_server_that_gives_no_list_today_keeps_the_one_it_gave(home):
    kept, config = lists(home), configuration(home, OPENAI)
    kept.learned({KEY: MODELS})
    kept.learned({KEY: None})
    assert names(kept.offered(config))["openai"] == ["gpt-5.1", "new"]


def test_an_empty_list_is_one_and_none_is_not(home):
    kept, config = lists(home), configuration(home, OPENAI)
    kept.learned({KEY: ()})
    assert names(kept.offered(config))["openai"] == ["gpt-5.1"]
    kept = lists(home)
    (home / FILE_NAME).unlink()
    kept.learned({KEY: None})
    assert len(names(kept.offered(config))["openai"]) > 10


@pytest.mark.parametrize(
    ("settings", "key", "models", "seconds"),
    [(OPENAI, KEY, MODELS, GOOD_FOR), (OPENAI, KEY, None, FAILED_GOOD_FOR), (LOCAL, LOCAL_KEY, (), LOCAL_GOOD_FOR)],
)
def test_a_server_is_asked_again_only_after_a_while(home, settings, key, models, seconds):
    clock, config = Clock(1_000_000.0), configuration(home, settings)
    kept = lists(home, clock)
    assert [provider.list_key for provider in kept.due(config)] == [key]
    kept.learned({key: models})
    clock.now += seconds - 1
    assert lists(home, clock).due(config) == ()
    clock.now += 1
    assert [provider.list_key for provider in kept.due(config)] == [key]
    clock.now -= 2 * seconds
    assert [provider.list_key for provider in kept.due(config)] == [key], "the clock was put back"


def test_a_provider_without_a_list_is_never_asked(home):
    assert (
        lists(home).due(configuration(home, {"model": {"provider": "zai", "default": "glm-5", "api_key": "k"}})) == ()
    )


def test_what_nobody_asks_for_any_more_is_forgotten(home):
    clock = Clock(1_000_000.0)
    kept = lists(home, clock)
    kept.learned({"gone https://gone.example/v1": MODELS})
    clock.now += 31 * 24 * 3600
    kept.learned({KEY: MODELS})
    assert list(json.loads((home / FILE_NAME).read_text())["lists"]) == [KEY]


@pytest.mark.parametrize(
    "content",
    [
        "not json",
        "[]",
        '{"version": 1, "lists": 7}',
        '{"version": 1, "lists": {"openai https://api.openai.com/v1": {"asked_at": "x", "models": {}}}}',
        '{"version": 1, "lists": {"openai https://api.openai.com/v1": {"asked_at": 1, "models": ["a"]}}}',
        '{"version": 2, "lists": {}}',
    ],
)
def test_a_file_that_cannot_be_understood_is_no_list(home, content):
    config = configuration(home, OPENAI)
    (home / FILE_NAME).write_text(content, encoding="utf-8")
    kept = lists(home)
    assert len(names(kept.offered(config))["openai"]) > 10
    assert len(kept.due(config)) == 1


def test_facts_that_are_no_numbers_are_unknown(home):
    entry = {"asked_at": 1.0, "failed": False, "models": {"a": ["x", 1, 2], "b": None, "c": [5, None, 2.5]}}
    (home / FILE_NAME).write_text(json.dumps({"version": 1, "lists": {KEY: entry}}), encoding="utf-8")
    (provider,) = lists(home).offered(configuration(home, OPENAI))
    assert provider.models[1:] == (OfferedModel("a"), OfferedModel("b"), OfferedModel("c", 5, None, 2.5))


def test_what_cannot_be_written_is_kept_in_memory(home):
    config = configuration(home, OPENAI)
    (home / FILE_NAME).mkdir()
    kept = lists(home)
    kept.learned({KEY: MODELS})
    assert names(kept.offered(config))["openai"] == ["gpt-5.1", "new"]
    assert kept.due(config) == ()


def test_a_process_that_was_started_offline_asks_nobody(home):
    config = configuration(home, OPENAI, {"GROQ_API_KEY": "g"}, provider="offline", model="offline")
    kept = lists(home)
    assert names(kept.offered(config)) == {"offline": ["offline"]}
    assert kept.due(config) == ()


def test_who_signs_in_meanwhile_is_offered_the_accounts_models(home):
    kept, config = lists(home), configuration(home, OPENAI)
    assert list(names(kept.offered(config))) == ["openai"]
    TokenStore(home / TOKENS).put("codex", OAuthToken("access"))
    assert list(names(kept.offered(config))) == ["openai", "codex"]
