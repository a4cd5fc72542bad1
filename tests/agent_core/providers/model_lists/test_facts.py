"""What is known of models, and that every figure says where it comes from."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.providers import pricing as facts_module
from agent_core.providers.catalog import SERVICES
from agent_core.providers.choice import ModelFacts
from agent_core.providers.pricing import facts_of, known_models
from tests.support.each import each

DATA = Path(facts_module.__file__).with_name("model_facts.json")
FIGURES = {"context", "output", "in", "out", "cached", "written", "written_1h", "upto"}
FLAGS = {"vision", "audio", "reasoning"}


@pytest.fixture(scope="module")
def shipped():
    return json.loads(DATA.read_bytes())


def entries(shipped):
    return [(s, name, entry) for s, models in shipped["services"].items() for name, entry in models.items()]


def test_every_figure_has_a_source(shipped):
    origins = [part.removeprefix("for openrouter ") for part in shipped["origin"].split("; ")]
    without = [
        (service, name)
        for service, name, entry in entries(shipped)
        if not str(entry.get("source", "")).startswith(("https://", *origins))
    ]
    assert without == []


def test_every_figure_is_of_a_known_kind_and_possible(shipped):
    wrong = [
        (service, name, key, value)
        for service, name, entry in entries(shipped)
        for key, value in entry.items()
        if key != "source"
        and not (
            (key in FLAGS and isinstance(value, bool))
            or (key in {"context", "output", "upto"} and isinstance(value, int) and 0 < value < 100_000_000)
            or (key in FIGURES and isinstance(value, int | float) and 0 <= value < 10_000)
        )
    ]
    assert wrong == []


def test_reading_from_the_cache_never_costs_more_than_reading(shipped):
    # A figure that is off by a thousand would show here.
    dear = [(s, name) for s, name, entry in entries(shipped) if entry.get("cached", 0) > entry.get("in", 1e9) > 0]
    assert dear == []


def test_the_data_are_small_and_have_one_model_a_line_in_order(shipped):
    assert DATA.stat().st_size < 350_000
    lines = [line.partition(": {")[0].strip('"') for line in DATA.read_text().splitlines() if '"source": ' in line]
    assert lines == [name for _, name, _ in entries(shipped)]
    assert all(list(models) == sorted(models) for models in shipped["services"].values())


def test_the_data_are_of_services_in_the_catalog(shipped):
    assert set(shipped["services"]) <= {service.facts_as for service in SERVICES.values()}


def test_a_model_has_its_figures_in_tokens_and_dollars_for_a_million():
    facts = facts_of("openai", "gpt-4o")
    assert (facts.context_length, facts.max_output, facts.vision) == (128_000, 16_384, True)
    assert (facts.input_price, facts.cached_price, facts.output_price) == (2.5, 1.25, 10)
    assert facts.source


@each(
    ("service", "dated", "plain"),
    [
        ("openai", "gpt-5-2031-01-31", "gpt-5"),
        ("anthropic", "claude-sonnet-4-5-20310131", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5@20310131", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5-latest", "claude-sonnet-4-5"),
        ("openrouter", "openai/gpt-5-2031-01-31", "openai/gpt-5"),
    ],
)
def test_a_name_with_an_unknown_date_has_the_facts_of_the_name_without_it(service, dated, plain):
    assert facts_of(service, dated) == facts_of(service, plain)
    assert facts_of(service, plain).source


def test_a_name_with_a_known_date_has_its_own_facts():
    assert facts_of("openai", "gpt-4o-2024-05-13").input_price == 5


@each(
    ("service", "model"),
    [
        ("openai", "gpt-5-turbo"),
        ("openai", "GPT-5"),
        ("openai", "gpt-5-0613"),
        ("openai", "my-gpt-5"),
        ("openai", ""),
        ("openai", "claude-sonnet-4-5"),
        ("openrouter", "openai/gpt-5:free"),
        ("openrouter", "gpt-5"),
        ("custom", "gpt-5"),
        ("ollama", "gpt-oss:20b"),
        ("no-such-service", "gpt-5"),
        ("", "gpt-5"),
    ],
)
def test_what_the_data_do_not_name_is_unknown(service, model):
    assert facts_of(service, model) == ModelFacts()


def test_the_known_models_are_those_that_have_facts(shipped):
    assert known_models("anthropic") == tuple(shipped["services"]["anthropic"])
    assert known_models("custom") == ()


def test_nothing_is_read_before_the_first_question():
    code = (
        "import sys, agent_core.providers.pricing as f\n"
        "from agent_core.providers import model_listing, pricing\n"
        "before = f._models.cache_info().misses\n"
        "f.facts_of('openai', 'gpt-5')\n"
        "print(before, f._models.cache_info().misses, 'httpx2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "0 1 False\n"
