"""How much a model can be told to think."""

from __future__ import annotations

import pytest

from agent_core.providers.anthropic_messages import thinking
from agent_core.providers.base import ModelRequest
from agent_core.providers.resolve import available_efforts, effort_in_use, resolve_named
from tests.support.sample_configuration import configuration

KEYS = {
    "OPENAI_API_KEY": "k",
    "ANTHROPIC_API_KEY": "k",
    "GEMINI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
    "GROQ_API_KEY": "k",
    "MINIMAX_API_KEY": "k",
}
USUAL = ("low", "medium", "high")
SCALE = ("none", "minimal", "low", "medium", "high", "xhigh")


def choice(home, provider, model):
    return resolve_named(configuration(home, {}, KEYS), provider, model)


@pytest.mark.parametrize(
    ("provider", "model", "efforts"),
    [
        ("openai", "gpt-5.1", ("none", *USUAL)),
        ("openai", "gpt-5.2", ("none", *USUAL, "xhigh")),
        ("openai", "gpt-5", ("minimal", *USUAL)),
        ("openai", "gpt-5-pro", ("high",)),
        ("openai", "gpt-4o", ()),
        ("openai", "o3", USUAL),
        ("codex", "gpt-5.1-codex-max", (*USUAL, "xhigh")),
        ("anthropic", "claude-3-5-sonnet-20241022", ()),
        ("anthropic", "claude-sonnet-4-5", SCALE),
        ("anthropic", "claude-opus-4-6", ("none", *USUAL, "xhigh")),
        ("anthropic", "claude-opus-5", ("none", *USUAL, "xhigh")),
        ("anthropic", "claude-fable-5", (*USUAL, "xhigh")),
        ("bedrock", "anthropic.claude-opus-4-6-v1", ("none", *USUAL, "xhigh")),
        ("gemini", "gemini-2.5-flash", ("none", "minimal", *USUAL)),
        ("gemini", "gemini-2.5-pro", ("minimal", *USUAL)),
        ("gemini", "gemini-3-pro-preview", ("minimal", *USUAL)),
        ("gemini", "gemini-2.0-flash", ()),
        ("openrouter", "anthropic/claude-sonnet-4.5", SCALE),
        ("openrouter", "openai/gpt-5.1", ("none", *USUAL)),
        ("openrouter", "deepseek/deepseek-r1", SCALE),
        ("openrouter", "anthropic/claude-3-haiku", ()),
        ("openrouter", "meta-llama/llama-3.2-1b-instruct", ()),
        ("groq", "openai/gpt-oss-120b", ()),
        ("ollama", "qwen3:8b", ()),
        ("offline", None, ()),
    ],
)
def test_only_what_the_model_takes_there_is_offered(home, provider, model, efforts):
    assert available_efforts(choice(home, provider, model)) == efforts


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-6", "claude-fable-5", "claude-haiku-5-5"])
def test_each_effort_of_a_claude_makes_another_request(home, model):
    found = choice(home, "anthropic", model)
    asked = [
        str(thinking(ModelRequest(model, (), reasoning=effort), found).fields) for effort in available_efforts(found)
    ]
    assert len(set(asked)) == len(asked) > 1


@pytest.mark.parametrize(
    ("chosen", "configured", "model", "used"),
    [
        ("high", "low", "gpt-5.1", "high"),
        (None, "low", "gpt-5.1", "low"),
        (None, None, "gpt-5.1", None),
        ("xhigh", "low", "gpt-5.1", "low"),
        ("high", None, "gpt-4o", None),
    ],
)
def test_a_chosen_effort_counts_where_the_model_has_it(home, chosen, configured, model, used):
    assert effort_in_use(chosen, configured, choice(home, "openai", model)) == used
