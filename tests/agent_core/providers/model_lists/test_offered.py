"""The models of the providers that are set up, with and without what their servers said."""

from __future__ import annotations

from agent_core.providers.available_models import (
    MOST_MODELS,
    OfferedModel,
    OfferedProvider,
    as_offered,
    configured_providers,
    offered_models,
    shortened,
    with_model,
)
from agent_core.providers.choice import ModelFacts
from agent_core.providers.model_listing import ListedModel
from agent_core.providers.pricing import known_models
from tests.support.sample_configuration import configuration

ANTHROPIC = {"provider": "anthropic", "default": "claude-sonnet-4-6", "api_key": "k"}


def offered(home, settings, lists=None, environ=None, accounts=(), *, offline=False):
    providers = configured_providers(configuration(home, settings, environ), accounts)
    return offered_models(providers, lists or {}, offline=offline)


def names(provider):
    return [model.name for model in provider.models]


def test_before_a_server_was_asked_its_known_models_are_offered_with_the_chosen_one_first(home):
    (provider,) = offered(home, {"model": ANTHROPIC})
    assert names(provider)[0] == "claude-sonnet-4-6"
    assert set(names(provider)) == set(known_models("anthropic"))
    assert provider.models[0].context_length
    assert provider.models[0].input_price


def test_a_servers_own_list_takes_the_place_of_what_is_known(home):
    lists = {
        "anthropic https://api.anthropic.com": (OfferedModel("claude-new"), OfferedModel("claude-sonnet-4-6", 5))
    }
    (provider,) = offered(home, {"model": ANTHROPIC}, lists)
    assert provider.models == (OfferedModel("claude-sonnet-4-6", 5), OfferedModel("claude-new"))


def test_a_configured_model_is_offered_though_no_list_has_it(home):
    lists = {"anthropic https://api.anthropic.com": (OfferedModel("claude-new"),)}
    (provider,) = offered(home, {"model": {**ANTHROPIC, "default": "claude-preview"}}, lists)
    assert names(provider) == ["claude-preview", "claude-new"]


def test_an_own_server_has_its_configured_model_alone_until_it_was_asked(home):
    settings = {"model": ANTHROPIC, "providers": {"Work": {"base_url": "https://gw.example/v1", "model": "house"}}}
    assert names(offered(home, settings)[1]) == ["house"]
    lists = {"work https://gw.example/v1": (OfferedModel("a"), OfferedModel("house"))}
    assert names(offered(home, settings, lists)[1]) == ["house", "a"]


def test_a_list_from_another_address_does_not_count(home):
    settings = {"model": ANTHROPIC, "providers": {"work": {"base_url": "https://new.example/v1", "model": "house"}}}
    lists = {"work https://old.example/v1": (OfferedModel("a"),)}
    assert names(offered(home, settings, lists)[1]) == ["house"]


def test_a_provider_of_which_no_model_is_known_is_left_out(home):
    environ = {"GITHUB_TOKEN": "t", "DEEPSEEK_API_KEY": "d"}
    found = offered(home, {"model": ANTHROPIC}, environ=environ)
    assert [provider.name for provider in found] == ["anthropic", "deepseek"]


def test_names_of_deployments_are_the_users_own(home):
    azure = {
        "provider": "azure",
        "default": "mine",
        "api_key": "k",
        "base_url": "https://r.openai.azure.com/openai/v1",
    }
    assert names(offered(home, {"model": azure})[0]) == ["mine"]


def test_an_account_is_offered_the_models_that_it_can_have(home):
    codex = offered(home, {"model": ANTHROPIC}, accounts=("codex",))[1]
    assert "gpt-5.1-codex" in names(codex)
    assert "gpt-4o" not in names(codex)


def test_the_offline_model_comes_first_where_it_is_chosen(home):
    found = offered(home, {"model": {"provider": "offline"}}, environ={"DEEPSEEK_API_KEY": "d"}, offline=True)
    assert [provider.name for provider in found] == ["offline", "deepseek"]
    assert found[0].value(found[0].models[0]) == "offline:offline"


def test_of_a_servers_list_those_are_kept_that_can_be_shown_and_talk():
    listed = [
        ListedModel("b", ModelFacts(context_length=8, input_price=1.0, output_price=2.0)),
        ListedModel("text-embedding-3", ModelFacts()),
        ListedModel("a", ModelFacts()),
        ListedModel("b", ModelFacts(context_length=9)),
        ListedModel("x" * 201, ModelFacts()),
        ListedModel("line\nbreak", ModelFacts()),
        ListedModel(" spaced", ModelFacts()),
    ]
    assert as_offered(listed) == (OfferedModel("b", 9), OfferedModel("a"))


def test_a_list_without_end_is_cut():
    listed = [ListedModel(f"m{number}", ModelFacts()) for number in range(MOST_MODELS + 50)]
    assert len(as_offered(listed)) == MOST_MODELS


def test_a_model_is_added_to_its_providers_group_or_before_all():
    known = (OfferedProvider("a", "A", (OfferedModel("one"),)), OfferedProvider("b", "B", (OfferedModel("two"),)))
    assert with_model(known, "b", "two") is known
    assert names(with_model(known, "b", "three")[1]) == ["three", "two"]
    other = with_model(known, "c", "four")
    assert [provider.name for provider in other] == ["c", "a", "b"]


def test_the_newest_come_first_where_the_server_tells_their_age():
    listed = [
        ListedModel("old", ModelFacts(), created=1.0),
        ListedModel("ageless", ModelFacts()),
        ListedModel("new", ModelFacts(), created=2.0),
        ListedModel("ageless-too", ModelFacts()),
    ]
    assert [model.name for model in as_offered(listed)] == ["new", "old", "ageless", "ageless-too"]


def test_what_the_server_says_of_a_models_use_goes_before_its_name():
    listed = [
        ListedModel("image-talker", ModelFacts(), chats=True),
        ListedModel("talker", ModelFacts(), chats=False),
        ListedModel("image-maker", ModelFacts()),
    ]
    assert [model.name for model in as_offered(listed)] == ["image-talker"]


def _long(name, count, named=0):
    return OfferedProvider(name, name, tuple(OfferedModel(f"m{number}") for number in range(count)), named)


def _counts(offered):
    return [len(provider.models) for provider in offered]


def test_a_list_that_is_not_too_long_stays_what_it_is():
    offered = (_long("a", 200), _long("b", 50))
    assert shortened(offered, "a", "m0", 250) is offered


def test_what_short_lists_leave_is_for_the_long_ones():
    offered = (_long("a", 300), _long("b", 10), _long("c", 300))
    short = shortened(offered, "a", "m0", 100)
    assert _counts(short) == [45, 10, 45]
    assert names(short[0]) == [f"m{number}" for number in range(45)]


def test_the_present_and_the_named_models_are_always_there():
    offered = (_long("a", 300, named=40), _long("b", 300), _long("c", 300))
    short = shortened(offered, "b", "m299", 30)
    assert _counts(short) == [40, 11, 10]
    assert names(short[1])[-1] == "m299"
    assert names(shortened(offered, "b", "m3", 30)[1]).count("m3") == 1


def test_the_settings_models_are_counted_for_that(home):
    settings = {"model": ANTHROPIC, "fallback_providers": ["anthropic:claude-preview"]}
    (provider,) = offered(home, settings)
    assert provider.named == 2
    assert names(provider)[:2] == ["claude-sonnet-4-6", "claude-preview"]
    assert with_model((provider,), "anthropic", "claude-other")[0].named == 3


def test_a_named_model_that_cannot_be_shown_is_not_offered(home):
    settings = {"model": {**ANTHROPIC, "default": "claude\nsonnet"}}
    (provider,) = offered(home, settings)
    assert all(model.name.isprintable() for model in provider.models)
    assert provider.named == 0
