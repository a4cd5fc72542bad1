"""Which reasoning efforts OpenAI's models take."""

from __future__ import annotations

from agent_core.providers.protocol import efforts_of, nearest_effort
from tests.support.each import each


@each(
    ("model", "efforts"),
    [
        ("gpt-5", "minimal low medium high"),
        ("gpt-5-mini-2025-08-07", "minimal low medium high"),
        ("openai/gpt-5-nano", "minimal low medium high"),
        ("gpt-5-codex", "low medium high"),
        ("gpt-5-pro", "high"),
        ("gpt-5.1", "none low medium high"),
        ("gpt-5.1-codex-mini", "low medium high"),
        ("gpt-5.1-codex-max", "low medium high xhigh"),
        ("gpt-5.2", "none low medium high xhigh"),
        ("gpt-5.3-codex", "low medium high xhigh"),
        ("gpt-5.2-chat-latest", "medium"),
        ("gpt-6-astra", "none low medium high xhigh"),
        ("o3", "low medium high"),
        ("o4-mini", "low medium high"),
    ],
)
def test_what_a_reasoning_model_takes(model, efforts):
    assert efforts_of(model) == tuple(efforts.split())


@each("model", ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-3.5-turbo", "gpt-5-chat-latest"])
def test_models_that_do_not_reason_take_none(model):
    assert efforts_of(model) == ()


@each("model", ["grok-4", "gpt-oss-120b", "gpt-35-turbo", "o3x", "my-gpt-5", "qwen3", ""])
def test_of_other_names_nothing_is_known(model):
    assert efforts_of(model) is None


@each(
    ("model", "wanted", "sent"),
    [
        ("gpt-5", "none", "minimal"),
        ("gpt-5", "xhigh", "high"),
        ("gpt-5-pro", "low", "high"),
        ("gpt-5.1", "none", "none"),
        ("gpt-5.1", "minimal", "low"),
        ("o3", "none", "low"),
        ("gpt-5.2", "xhigh", "xhigh"),
        ("grok-4", "minimal", "minimal"),
        ("gpt-4o", "medium", "medium"),
    ],
)
def test_an_effort_that_the_model_does_not_take_becomes_the_nearest_one(model, wanted, sent):
    assert nearest_effort(model, wanted) == sent
