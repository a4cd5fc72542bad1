"""Which wire protocol a server is spoken to in, and what a model's name tells."""

from __future__ import annotations

import pytest

from agent_core.providers.catalog import (
    SERVICES,
    is_gpt_5_class,
    is_openai_reasoning,
    resolve_mode,
    seems_to_reason,
    takes_temperature,
)
from tests.support.each import each

CHAT, MESSAGES, RESPONSES, CONVERSE = "chat_completions", "anthropic_messages", "codex_responses", "bedrock_converse"
OPENAI = "https://api.openai.com/v1"


@each(
    ("base_url", "model", "mode"),
    [
        ("https://api.anthropic.com", "claude-x", MESSAGES),
        ("https://API.Anthropic.com/", "claude-x", MESSAGES),
        ("https://api.anthropic.com/v1", "claude-x", MESSAGES),
        ("https://api.anthropic.com.evil.example", "claude-x", CHAT),
        ("https://gateway.example/anthropic", "m", MESSAGES),
        ("https://gateway.example/anthropic/", "m", MESSAGES),
        ("https://gateway.example/anthropic/v1", "m", CHAT),
        ("https://gateway.example/notanthropic", "m", CHAT),
        ("https://gateway.example/v1?next=/anthropic", "m", CHAT),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "m", CONVERSE),
        ("https://bedrock-runtime.us-east-1.amazonaws.com.evil.example", "m", CHAT),
        ("https://bedrock-runtime.a.b.amazonaws.com", "m", CHAT),
        ("https://xbedrock-runtime.us-east-1.amazonaws.com", "m", CHAT),
        ("https://chatgpt.com/backend-api/codex", "gpt-5", RESPONSES),
        ("https://proxy.example/x/backend-api/codex/v2", "m", RESPONSES),
        ("https://chatgpt.com/backend-api", "gpt-5", CHAT),
        (OPENAI, "gpt-5", RESPONSES),
        (OPENAI, "gpt-5.6-terra", RESPONSES),
        (OPENAI, "gpt-5-mini-2025-08-07", RESPONSES),
        (OPENAI, "gpt-6", RESPONSES),
        (OPENAI, "gpt-10-turbo", RESPONSES),
        (OPENAI, "gpt-4.1", CHAT),
        (OPENAI, "gpt-4o", CHAT),
        (OPENAI, "gpt-3.5-turbo", CHAT),
        (OPENAI, "gpt-oss-120b", CHAT),
        (OPENAI, "o4-mini", CHAT),
        ("https://api.openai.com.evil.example/v1", "gpt-5", CHAT),
        ("https://evil.example/api.openai.com/v1", "gpt-5", CHAT),
        ("https://eu.api.openai.com/v1", "gpt-5", CHAT),
        ("https://gateway.example/v1", "gpt-5", CHAT),
        ("http://127.0.0.1:11434/v1", "qwen3:8b", CHAT),
        ("", "m", CHAT),
    ],
)
def test_the_address_tells_the_protocol(base_url, model, mode):
    assert resolve_mode(None, None, base_url, model) == mode


@pytest.mark.parametrize("explicit", [CHAT, MESSAGES, RESPONSES, CONVERSE])
def test_what_is_said_goes_before_the_provider_and_the_address(explicit):
    assert resolve_mode(explicit, MESSAGES, "https://api.anthropic.com", "m") == explicit


def test_a_provider_with_one_protocol_has_it_at_every_address():
    assert resolve_mode(None, MESSAGES, "https://gateway.example/v1", "m") == MESSAGES


@each(
    ("name", "model", "mode"),
    [
        ("openai", "gpt-4.1", CHAT),
        ("openai", "gpt-5", RESPONSES),
        ("anthropic", "claude-x", MESSAGES),
        ("minimax", "MiniMax-M2.7", MESSAGES),
        ("bedrock", "anthropic.claude-x", CONVERSE),
        ("codex", "gpt-5.5", RESPONSES),
        *(
            (name, "gpt-5", CHAT)
            for name in ("openrouter", "azure", "github", "gemini", "deepseek", "ollama", "custom")
        ),
    ],
)
def test_the_services_of_the_catalog_have_these_protocols(name, model, mode):
    service = SERVICES[name]
    assert resolve_mode(None, service.api_mode, service.base_url, model) == mode


@each(
    ("model", "gpt_5", "reasoning"),
    [
        ("gpt-5", True, True),
        ("openai/gpt-5.1-codex", True, True),
        ("GPT-5", True, True),
        ("gpt-12", True, True),
        ("o1", False, True),
        ("o3-pro", False, True),
        ("openai/o4-mini", False, True),
        ("gpt-4.1-mini", False, False),
        ("gpt-35-turbo", False, False),
        ("gpt-350", True, True),
        ("chatgpt-4o-latest", False, False),
        ("olmo-3", False, False),
        ("my-gpt-5", False, False),
    ],
)
def test_openais_reasoning_models_are_known_by_their_names(model, gpt_5, reasoning):
    assert (is_gpt_5_class(model), is_openai_reasoning(model)) == (gpt_5, reasoning)


@each(
    ("model", "takes"),
    [
        ("gpt-4.1", True),
        ("claude-3-5-sonnet-20241022", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4-6", True),
        ("anthropic/claude-sonnet-4.6", True),
        ("qwen3:8b", True),
        ("moonshot-v1-8k", True),
        ("o3", False),
        ("gpt-5-mini", False),
        ("openai/gpt-5.6-sol", False),
        ("kimi-k2-thinking", False),
        ("moonshotai/kimi-k2.6", False),
        ("claude-opus-4-7", False),
        ("anthropic/claude-opus-4.7", False),
        ("us.anthropic.claude-opus-4-7-v1:0", False),
        ("claude-fable-5", False),
    ],
)
def test_models_with_a_fixed_temperature_are_sent_none(model, takes):
    assert takes_temperature(model) is takes


@each(
    ("model", "reasons"),
    [
        ("gpt-5", True),
        ("deepseek-reasoner", True),
        ("deepseek-r1:8b", True),
        ("kimi-k2-thinking", True),
        ("grok-4.20-reasoning", True),
        ("z-ai/glm-4.7", True),
        ("grok-4.20-non-reasoning", False),
        ("gpt-4.1", False),
        ("llama-3.3-70b", False),
        ("mirror1", False),
    ],
)
def test_a_name_may_tell_that_a_model_thinks_first(model, reasons):
    assert seems_to_reason(model) is reasons
