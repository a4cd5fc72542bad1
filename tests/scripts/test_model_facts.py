"""How the packages' data become the facts that are shipped."""

import json
from decimal import Decimal

import pytest

from agent_core.providers import pricing as facts_module
from scripts import model_facts
from scripts.model_facts import GENAI_PRICES, LITELLM, _from_genai_prices, _from_litellm, _rendered
from tests.support.each import each

PRICES = {"input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05}


def entry(provider="openai", **more):
    return {"litellm_provider": provider, "mode": "chat", "max_input_tokens": 1000, **PRICES, **more}


def facts_of(service="openai", **more):
    return _from_litellm({"m": entry(**more)})[service]["m"]


def test_the_shipped_data_are_of_the_pinned_packages():
    shipped = json.loads(model_facts.TARGET.read_bytes())
    assert shipped["origin"] == f"{LITELLM.name}; for openrouter {GENAI_PRICES.name}"
    assert model_facts.TARGET.samefile(facts_module.DATA)


def test_prices_become_dollars_for_a_million_tokens():
    facts = facts_of(cache_read_input_token_cost=1.25e-07, cache_creation_input_token_cost=2.5e-06)
    assert (facts["in"], facts["out"], facts["cached"], facts["written"]) == (1.25, 10.0, 0.125, 2.5)


def test_what_the_source_says_is_the_source_and_else_the_package():
    assert facts_of(source="https://models.example/prices")["source"] == "https://models.example/prices"
    assert facts_of()["source"] == LITELLM.name


@each(
    ("more", "vision"),
    [
        ({}, None),
        ({"supports_vision": False}, False),
        ({"supported_modalities": ["text", "image"]}, True),
        ({"supported_modalities": ["text"]}, False),
        ({"supported_modalities": ["text"], "supports_vision": True}, True),
    ],
)
def test_vision_is_known_where_the_data_say_so(more, vision):
    assert facts_of(**more).get("vision") is vision


@each(
    ("more", "audio"),
    [
        ({}, None),
        ({"supports_audio_input": False}, False),
        ({"supported_modalities": ["text", "audio"]}, True),
        ({"supported_modalities": ["text", "image"]}, False),
        ({"supported_modalities": ["text"], "supports_audio_input": True}, True),
    ],
)
def test_hearing_is_known_where_the_data_say_so(more, audio):
    assert facts_of(**more).get("audio") is audio


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({"input_cost_per_token_above_200k_tokens": 2.5e-06}, 200_000),
        (
            {"output_cost_per_token_above_128k_tokens": 2e-05, "input_cost_per_token_above_272k_tokens": 1e-06},
            128_000,
        ),
        ({"tiered_pricing": [{**PRICES, "range": [0, 32000.0]}, {"range": [32000.0, 128000.0]}]}, 32_000),
    ],
)
def test_prices_that_rise_with_the_prompt_hold_up_to_there(more, limit):
    facts = facts_of(**more)
    assert (facts["in"], facts["upto"]) == (1.25, limit)


@pytest.mark.parametrize(
    "more",
    [
        {"off_peak_pricing": {"input_cost_per_token": 1e-06}},
        {"output_cost_per_reasoning_token": 4e-05},
        {"cache_read_input_token_cost": 5e-06},
    ],
    ids=["by the hour", "thoughts cost more", "a dear cache"],
)
def test_prices_that_one_figure_cannot_tell_are_left_out(more):
    assert not {"in", "out", "cached"} & set(facts_of(**more))


@pytest.mark.parametrize("price", [0.0, 1e-07])
def test_a_price_of_writing_to_the_cache_below_the_prompts_is_no_price_of_tokens(price):
    facts = facts_of(cache_creation_input_token_cost=price, cache_creation_input_token_cost_above_1hr=price)
    assert "in" in facts
    assert not {"written", "written_1h"} & set(facts)


@each(
    ("key", "more", "name"),
    [
        ("gemini/gemini-9", {"provider": "gemini"}, ("gemini", "gemini-9")),
        ("dashscope/qwen9", {"provider": "dashscope"}, ("qwen", "qwen9")),
        ("together_ai/Maker/M", {"provider": "together_ai"}, ("together", "Maker/M")),
        ("together-ai-4.1b-8b", {"provider": "together_ai"}, None),
        ("azure/gpt-9", {"provider": "azure"}, ("azure", "gpt-9")),
        ("azure/eu/gpt-9", {"provider": "azure"}, None),
        ("bedrock/us-east-1/maker.m-v1:0", {"provider": "bedrock"}, None),
        ("us.maker.m-v1:0", {"provider": "bedrock_converse"}, ("bedrock", "us.maker.m-v1:0")),
        ("ft:gpt-9", {}, None),
        ("gpt-9", {"mode": "responses"}, ("openai", "gpt-9")),
        ("gpt-9", {"mode": "embedding"}, None),
        ("gpt-9", {"supported_output_modalities": ["audio"]}, None),
        ("gpt-9", {"provider": "another"}, None),
    ],
)
def test_models_are_named_as_their_service_names_them_and_others_left_out(key, more, name):
    found = _from_litellm({key: entry(**more)})
    assert [(service, model) for service, models in found.items() for model in models] == ([name] if name else [])


def test_of_two_entries_for_a_model_the_one_with_its_services_prefix_counts():
    both = {
        "deepseek/m": entry("deepseek", max_input_tokens=2000),
        "m": entry("deepseek", max_input_tokens=1000),
    }
    assert _from_litellm(both)["deepseek"]["m"]["context"] == 2000


OPENROUTER = """
providers: list[Provider] = [
    Provider(id='other', pricing_urls=['https://other.example'], models=[]),
    Provider(id='openrouter', pricing_urls=['https://models.example'], models=[
        ModelInfo(id='a/plain', match=ClauseOr(or_=[ClauseEquals(equals='a/plain'), ClauseEquals(equals='a/alias'),
            ClauseEquals(equals='a/plain-20310131'), ClauseEquals(equals='a/plain:beta'), ClauseRegex(regex='a/.*')]),
            context_window=1000, prices=ModelPrice(input_mtok=Decimal('1.5'), output_mtok=Decimal('3'))),
        ModelInfo(id='a/tiers', match=ClauseEquals(equals='a/tiers'), context_window=1000, prices=ModelPrice(
            input_mtok=TieredPrices(base=Decimal('2'), tiers=[Tier(start=500, price=Decimal('4'))]),
            cache_read_mtok=Decimal('0.2'), output_mtok=Decimal('3'))),
        ModelInfo(id='a/dearer', match=ClauseEquals(equals='a/dearer'), context_window=1000, prices=[
            ConditionalPrice(constraint=None, prices=ModelPrice(input_mtok=Decimal('1'))),
            ConditionalPrice(constraint=StartDateConstraint(start_date=datetime.date(2030, 1, 1)),
                prices=ModelPrice(input_mtok=Decimal('2')))]),
        ModelInfo(id='a/nightly', match=ClauseEquals(equals='a/nightly'), context_window=1000, prices=[
            ConditionalPrice(constraint=None, prices=ModelPrice(input_mtok=Decimal('1'))),
            ConditionalPrice(constraint=TimeOfDateConstraint(), prices=ModelPrice(input_mtok=Decimal('2')))]),
        ModelInfo(id='a/gone', match=ClauseEquals(equals='a/gone'), prices=ModelPrice(input_mtok=Decimal('1'))),
        ModelInfo(id='a/plain:batch', match=ClauseEquals(equals='a/plain:batch'), context_window=1000,
            prices=ModelPrice(input_mtok=Decimal('1'))),
        ModelInfo(id='~a/latest', match=ClauseEquals(equals='~a/latest'), context_window=1000, prices=ModelPrice()),
    ]),
]
"""


def test_openrouters_models_are_read_from_the_other_package():
    found = _from_genai_prices(OPENROUTER)
    assert {facts.pop("source") for facts in {id(facts): facts for facts in found.values()}.values()} == {
        f"https://models.example ({GENAI_PRICES.name})"
    }
    assert found == {
        "a/plain": {"context": 1000, "in": 1.5, "out": 3.0},
        "a/alias": {"context": 1000, "in": 1.5, "out": 3.0},
        "a/tiers": {"context": 1000, "in": 2.0, "out": 3.0, "cached": 0.2, "upto": 500},
        "a/dearer": {"context": 1000, "in": 2.0},
        "a/nightly": {"context": 1000},
    }


def test_the_file_has_one_model_a_line_in_order_and_plain_numbers():
    text = _rendered({"b": {"y": {"in": 2.0, "out": float(Decimal("0.075"))}, "x": {"context": 1}}, "a": {}})
    assert json.loads(text)["services"] == {"a": {}, "b": {"x": {"context": 1}, "y": {"in": 2, "out": 0.075}}}
    assert '\n"x": {"context": 1},\n"y": {"in": 2, "out": 0.075}\n' in text
