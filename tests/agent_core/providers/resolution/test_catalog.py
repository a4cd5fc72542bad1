"""The services that are known: each entry is whole and cited, and the documentation shows them as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.providers.catalog import (
    SERVICES,
    belongs_to,
    check_address,
    dialect_for,
    is_local,
    resolve_mode,
    same_server,
    service_at,
)
from agent_core.providers.choice import Dialect
from scripts.provider_table import BEGIN, END, catalog_table, main, with_table
from tests.support.each import each

PAGE = Path(__file__).parents[4] / "docs" / "models.md"
WANTED = [
    "openai",
    "anthropic",
    "openrouter",
    "gemini",
    "deepseek",
    "mistral",
    "groq",
    "together",
    "fireworks",
    "xai",
    "moonshot",
    "zai",
    "minimax",
    "qwen",
    "nous",
    "huggingface",
    "azure",
    "azure-entra",
    "github",
    "bedrock",
    "anthropic-bedrock",
    "anthropic-vertex",
    "anthropic-foundry",
    "codex",
    "ollama",
    "lmstudio",
    "vllm",
    "llamacpp",
    "custom",
]


def test_every_service_that_was_promised_is_there():
    assert set(SERVICES) == set(WANTED)


@each("service", SERVICES.values())
def test_an_entry_is_whole_and_says_where_it_comes_from(service):
    assert service.source.startswith("https://")
    assert service.title
    assert service.base_url == "" or check_address(service.base_url) == service.base_url
    assert service.base_url or service.note, "a user must be told which address to set"
    assert all(name.isupper() and name.isidentifier() for name in service.keys)
    assert service.access != "key" or service.keys
    assert all(host == host.lower() and "/" not in host for host in service.hosts)


@pytest.mark.parametrize(
    "service", [found for found in SERVICES.values() if found.local], ids=lambda found: found.name
)
def test_a_local_service_is_on_this_machines_loopback_and_needs_no_key(service):
    assert service.base_url == f"http://127.0.0.1:{service.ports[0]}/v1"
    assert service.access == "optional"
    assert service.facts_as == ""


def test_only_local_services_are_on_this_machine():
    assert [name for name, found in SERVICES.items() if found.base_url and is_local(found.base_url)] == [
        "ollama",
        "lmstudio",
        "vllm",
        "llamacpp",
    ]


PLAIN = [
    "groq",
    "together",
    "fireworks",
    "xai",
    "qwen",
    "nous",
    "huggingface",
    "github",
    "ollama",
    "lmstudio",
    "vllm",
    "llamacpp",
    "custom",
]


@each("name", PLAIN)
def test_what_no_page_speaks_of_is_not_in_a_services_dialect(name):
    assert SERVICES[name].dialect == Dialect()


@each(
    ("name", "model", "base_url", "expected"),
    [
        ("openai", "gpt-4.1", None, {"cache_key": True, "developer_role": False, "effort": "none", "files": True}),
        ("openai", "o4-mini", None, {"developer_role": True, "effort": "reasoning_effort"}),
        ("openai", "gpt-5.6-terra", None, {"developer_role": True, "max_tokens_field": "max_completion_tokens"}),
        ("openai", "o4-mini", "https://gateway.example/v1", {"developer_role": False, "cache_key": False}),
        ("custom", "m", "https://gateway.example/v1", {"stream_usage": True, "max_tokens_field": "max_tokens"}),
        ("azure", "o4-mini", "https://r.openai.azure.com/openai/v1", {"auth": "api-key", "developer_role": False}),
        ("openrouter", "anthropic/claude-sonnet-4.6", None, {"cache_markers": True, "effort": "openrouter"}),
        ("openrouter", "openai/gpt-5", None, {"cache_markers": False, "reasoning_back": "given", "files": True}),
        ("openrouter", "deepseek/deepseek-v4-pro", None, {"reasoning_back": "given"}),
        ("openrouter", "someone/anthropic-like", None, {"cache_markers": False}),
        ("deepseek", "deepseek-v4-pro", None, {"reasoning_back": "reasoning_content", "effort": "none"}),
        ("moonshot", "kimi-k2.6", None, {"reasoning_back": "reasoning_content"}),
        ("moonshot", "moonshot-v1-32k", None, {"reasoning_back": "none"}),
        ("mistral", "devstral-latest", None, {"stream_usage": False}),
        ("anthropic", "claude-opus-4-7", None, {"auth": "x-api-key", "temperature": False, "files": None}),
        ("anthropic", "claude-sonnet-4-6", None, {"auth": "x-api-key", "temperature": True}),
        ("minimax", "MiniMax-M2.7", None, {"auth": "x-api-key", "files": False}),
        ("deepseek", "m", "https://api.deepseek.com/anthropic", {"auth": "x-api-key"}),
        ("codex", "gpt-5.5", None, {"cache_key": True, "auth": "bearer", "files": False}),
    ],
)
def test_a_dialect_is_that_of_the_service_the_model_and_the_address(name, model, base_url, expected):
    service = SERVICES[name]
    address = base_url or service.base_url
    mode = resolve_mode(None, service.api_mode, address, model)
    dialect = dialect_for(service, model, address, mode)
    assert {key: getattr(dialect, key) for key in expected} == expected


@each(
    ("name", "address", "own"),
    [
        ("openai", "https://api.openai.com", True),
        ("openai", "https://api.openai.com:443/v1", True),
        ("openai", "https://API.OpenAI.com/v1", True),
        ("openai", "http://api.openai.com/v1", False),
        ("openai", "https://api.openai.com:8443/v1", False),
        ("openai", "https://api.openai.com.evil.example/v1", False),
        ("openai", "https://user@evil.example/api.openai.com", False),
        ("moonshot", "https://api.moonshot.cn/v1", True),
        ("moonshot", "http://api.moonshot.cn/v1", False),
        ("moonshot", "http://api.moonshot.cn:443/v1", False),
        ("moonshot", "https://api.moonshot.cn:8443/v1", False),
        ("azure", "https://mine.openai.azure.com/openai/v1", True),
        ("azure", "https://mine.openai.azure.com.evil.example/openai/v1", False),
        ("azure", "https://evil.example/mine.openai.azure.com", False),
        ("azure", "https://a.b.openai.azure.com/openai/v1", False),
        ("bedrock", "https://bedrock-runtime.eu-west-1.amazonaws.com", True),
        ("bedrock", "https://bedrock-runtime.evil.example", False),
        ("custom", "https://anything.example", False),
    ],
)
def test_a_service_has_its_own_hosts_and_no_others(name, address, own):
    assert belongs_to(SERVICES[name], address) is own
    assert (service_at(address) is SERVICES[name]) is own


@each(
    ("address", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.2/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://192.168.1.5:8000/v1", True),
        ("http://box.local:1234/v1", True),
        ("https://localhost.example/v1", False),
        ("https://api.openai.com/v1", False),
        ("https://8.8.8.8/v1", False),
    ],
)
def test_a_server_nearby_is_told_from_a_hosted_one(address, local):
    assert is_local(address) is local


def test_the_usual_port_may_be_left_out():
    assert same_server("https://one.example/v1", "https://one.example:443")
    assert not same_server("https://one.example", "http://one.example:443")


def test_an_address_with_a_password_is_not_shown_when_it_is_refused():
    with pytest.raises(Exception, match="not shown") as caught:
        check_address("http://user:hidden-word@host:port/v1")
    assert "hidden-word" not in str(caught.value)


def test_the_documentation_has_the_table_as_the_catalog_is_now():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run: make docs"


def test_the_table_has_a_row_for_each_service():
    rows = catalog_table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(SERVICES)


def test_the_page_is_rewritten_between_its_markers_only(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert main([str(page)]) == 0
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\n{catalog_table()}\n{END}\nafter\n"


def test_a_page_without_markers_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match="needs the lines"):
        main([str(page)])
    assert page.read_text(encoding="utf-8") == "nothing\n"


def test_the_program_says_how_it_is_used(capsys):
    assert main([]) == 2
    assert "docs/models.md" in capsys.readouterr().err


@each(
    ("model", "expected"),
    [
        ("deepseek-ai/DeepSeek-V3.2", "reasoning_content"),
        ("accounts/fireworks/models/deepseek-v3p2", "reasoning_content"),
        ("deepseek/deepseek-v4-flash:free", "reasoning_content"),
        ("deepseek-reasoner", "reasoning_content"),
        ("Pro/moonshotai/Kimi-K2.5", "reasoning_content"),
        ("moonshotai/kimi-k2-thinking", "reasoning_content"),
        ("zai-org/GLM-4.6-FP8", "reasoning_content"),
        ("z-ai/glm-5", "reasoning_content"),
        ("xiaomi/mimo-v2.5-pro", "reasoning_content"),
        ("google/gemini-3-pro-preview", "thought_signature"),
        ("gemini-flash-latest", "thought_signature"),
        ("gemini-2.5-pro", "given"),
        ("deepseek-r1-distill-llama-70b", "given"),
        ("deepseek-v3-0324", "given"),
        ("moonshotai/kimi-k2-instruct", "given"),
        ("THUDM/glm-4-9b", "given"),
        ("chatglm-6b", "given"),
        ("qwen3-coder", "given"),
        ("gpt-4.1", "given"),
    ],
)
def test_what_a_family_wants_back_of_its_reasoning_is_known_by_its_name_wherever_it_is_hosted(model, expected):
    for name in ("custom", "together", "vllm"):
        service = SERVICES[name]
        assert (
            dialect_for(service, model, "https://gateway.example/v1", "chat_completions").reasoning_back == expected
        )
