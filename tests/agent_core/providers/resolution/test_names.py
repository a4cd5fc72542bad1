"""Names of providers as people write them."""

from __future__ import annotations

from agent_core.providers.catalog import ALIASES, SERVICES, canonical, split_model, unknown_provider
from tests.support.each import each

MINE = frozenset({"work", "my-box", "local"})


@each(
    ("written", "meant"),
    [
        ("openai", "openai"),
        ("  OpenAI ", "openai"),
        ("claude", "anthropic"),
        ("google", "gemini"),
        ("gemini-api", "gemini"),
        ("kimi", "moonshot"),
        ("glm", "zai"),
        ("z.ai", "zai"),
        ("grok", "xai"),
        ("hf", "huggingface"),
        ("dashscope", "qwen"),
        ("alibaba", "qwen"),
        ("lm-studio", "lmstudio"),
        ("LM Studio", "lmstudio"),
        ("llama.cpp", "llamacpp"),
        ("llama-cpp", "llamacpp"),
        ("azure-openai", "azure"),
        ("aws", "bedrock"),
        ("amazon-bedrock", "bedrock"),
        ("chatgpt", "codex"),
        ("openai-codex", "codex"),
        ("github-models", "github"),
        ("mistralai", "mistral"),
        ("togetherai", "together"),
        ("local", "local"),
        ("work", "work"),
        ("My Box", "my-box"),
        ("custom:work", "work"),
        ("custom:My Box", "my-box"),
        ("custom:other", "custom:other"),
        ("nobody", "nobody"),
        ("", ""),
    ],
)
def test_a_name_is_a_server_of_the_users_a_service_or_an_alias_in_this_order(written, meant):
    assert canonical(written, MINE) == meant


def test_a_server_on_the_users_machine_is_a_compatible_one_unless_they_have_named_one_so():
    assert canonical("local") == "custom"


def test_every_alias_means_a_service_and_is_none_itself():
    assert set(ALIASES.values()) <= set(SERVICES)
    assert not set(ALIASES) & set(SERVICES)


@each(
    ("text", "beside", "provider", "model"),
    [
        ("anthropic:claude-x", None, "anthropic", "claude-x"),
        ("Claude: claude-x", None, "anthropic", "claude-x"),
        ("openrouter:openai/gpt-5:free", None, "openrouter", "openai/gpt-5:free"),
        ("ollama:qwen3:8b", None, "ollama", "qwen3:8b"),
        ("work:some/model", None, "work", "some/model"),
        ("custom:work:some-model", None, "work", "some-model"),
        ("custom:llama", None, "custom", "llama"),
        ("offline:offline", None, "offline", "offline"),
        ("qwen:qwen3-max", None, "qwen", "qwen3-max"),
        ("qwen:7b", "openai", "qwen", "7b"),
        ("qwen:7b", "ollama", None, "qwen:7b"),
        ("mistral:7b", "custom", None, "mistral:7b"),
        ("mistral:7b", "work", None, "mistral:7b"),
        ("anthropic:claude-x", "ollama", "anthropic", "claude-x"),
        ("work:m", "ollama", "work", "m"),
        ("qwen3:8b", None, None, "qwen3:8b"),
        ("openai/gpt-5:free", None, None, "openai/gpt-5:free"),
        ("us.anthropic.claude-opus-4-7-v1:0", None, None, "us.anthropic.claude-opus-4-7-v1:0"),
        ("gpt-4.1", None, None, "gpt-4.1"),
        ("openai:", None, None, "openai:"),
        (":x", None, None, ":x"),
        ("m:x", "no-such-provider", None, "m:x"),
        ("qwen:7b", "offline", "qwen", "7b"),
    ],
)
def test_a_model_may_name_its_provider_before_the_first_colon(text, beside, provider, model):
    assert split_model(text, MINE, beside) == (provider, model)


def test_an_unknown_provider_is_told_with_the_nearest_names_and_all_that_there_are():
    told = unknown_provider("opnai", {"work"})
    assert "'opnai' is not known" in told
    assert "Did you mean openai" in told
    assert all(name in told for name in (*SERVICES, "offline", "work"))


def test_a_name_that_is_near_none_gets_no_hint():
    assert "Did you mean" not in unknown_provider("xyzzy-plugh")
