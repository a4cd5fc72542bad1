"""Which models are sent recordings: those of the data, else those whose makers say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.config import Overrides, load
from agent_core.home import Home
from agent_core.providers.catalog import is_known_to_hear
from agent_core.providers.pricing import facts_of
from agent_core.providers.resolve import resolve_model
from tests.support.each import each


@each(
    "model",
    [
        "gpt-audio",
        "gpt-audio-mini-2025-12-15",
        "gpt-4o-audio-preview",
        "gpt-4o-mini-audio-preview",
        "openai/gpt-4o-audio-preview",
        "google/gemini-2.5-flash",
        "google/gemini-2.5-pro:free",
        "gemini-1.5-pro-002",
        "gemini-3-flash-preview",
        "gemini-2.5-flash-lite",
    ],
)
def test_models_that_their_makers_call_able_to_hear(model):
    assert is_known_to_hear(model)


@each(
    "model",
    [
        "gpt-4o",
        "gpt-5",
        "gpt-audiobook",
        "gpt-4o-realtime-preview",
        "gemini-2.5-flash-preview-tts",
        "gemini-2.5-flash-image",
        "gemini-1.0-pro",
        "gemini-embedding-001",
        "claude-opus-4-8",
        "my-gpt-audio",
    ],
)
def test_other_names_promise_nothing(model):
    assert not is_known_to_hear(model)


@pytest.mark.parametrize(
    ("service", "model", "audio"),
    [
        ("openai", "gpt-audio", True),
        ("openai", "gpt-5", False),
        ("gemini", "gemini-2.5-pro", True),
        ("anthropic", "claude-haiku-4-5", None),
    ],
)
def test_the_shipped_data_say_who_hears(service, model, audio):
    assert facts_of(service, model).audio is audio


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("openrouter:google/gemini-2.5-flash", True),
        ("openrouter:anthropic/claude-haiku-4.5", False),
        ("openai:gpt-audio", True),
        ("openai:gpt-4o", False),
        ("gemini:gemini-2.5-pro", True),
        ("mistral:voxtral-small-2507", False),
    ],
)
def test_a_recording_goes_where_both_the_model_and_its_server_take_it(home: Path, model, sent):
    keys = dict.fromkeys(("OPENROUTER_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"), "key")
    choice = resolve_model(load(Home(home), Overrides(model=model), keys))
    assert (choice.dialect.audio and choice.facts.audio is True) is sent
