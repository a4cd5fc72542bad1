"""Which keys nobody reads: misspelt ones in every part, and never one that is understood under another name."""

import pytest
import yaml

from agent_core.settings.validation import unknown_keys


def unknown(text):
    return {".".join(map(str, key.path)): key.near for key in unknown_keys(yaml.safe_load(text))}


@pytest.mark.parametrize(
    ("text", "path", "near"),
    [
        ("modle: x", "modle", "model"),
        ("agent: {max_turn: 5}", "agent.max_turn", "max_turns"),
        ("sandbox: {levle: read-only}", "sandbox.levle", "level"),
        ("terminal: {backen: docker}", "terminal.backen", "backend"),
        ("tool_loop_guardrails: {warn_after: {exact_failures: 2}}", "tool_loop_guardrails.warn_after.exact_failures",
         "exact_failure"),
        ("providers: {mine: {context_lenght: 5}}", "providers.mine.context_lenght", "context_length"),
        ("providers: {openai: {api_kye: x}}", "providers.openai.api_kye", "api_key"),
        ("custom_providers: [{name: mine, base_ulr: x}]", "custom_providers.0.base_ulr", "base_url"),
        ("custom_providers: [{name: a}, {base_ur: x}]", "custom_providers.1.base_ur", "base_url"),
        ("fallback_providers: [{provdier: a}]", "fallback_providers.0.provdier", "provider"),
        ("fallback_providers: [x, {modell: y}]", "fallback_providers.1.modell", "model"),
        ("auxiliary: {vision: {timeuot: 3}}", "auxiliary.vision.timeuot", "timeout"),
        ("auxiliary: {title: {modle: x}}", "auxiliary.title.modle", "model"),
        ("toolsets: [a]", "toolsets", "platform_toolsets"),
        ("xyz: [a]", "xyz", ""),
    ],
)  # fmt: skip
def test_a_key_that_is_none_is_found_with_the_name_that_is_like_it(text, path, near):
    assert unknown(text) == {path: near}


def test_of_very_many_keys_all_are_told_and_not_all_compared():
    found = unknown("".join(f"foreign{number}: 1\n" for number in range(300)) + "modle: x\n")
    assert len(found) == 301
    assert found["modle"] == ""


@pytest.mark.parametrize(("text", "misspelt"), [("modle: x", True), ("toolsets: [a]", False), ("xyz: 1", False)])
def test_only_what_is_hardly_another_word_counts_as_misspelt(text, misspelt):
    assert [key.misspelt for key in unknown_keys(yaml.safe_load(text))] == [misspelt]


@pytest.mark.parametrize(
    "text",
    [
        "model: {api: http://127.0.0.1/v1, api_key_env: A, transport: chat_completions}",
        "model: gpt-x",
        "fallback_model: {provider: x, model: y}",
        "delegation: {child_timeout_seconds: 3, provider: x, model: y}",
        "terminal: {env_type: local}",
        "hooks: {PreToolUse: []}",
        "providers: {mine: {whatever: 1}}",
        "providers: {mine: {api: x, default_model: m, transport: sdk, models: {m: {}}, discover_models: true}}",
        "providers: [a]\ncustom_providers: {a: 5}\nauxiliary: 5",
        "custom_providers: [{name: mine, url: x, default_model: y}]",
        "custom_providers: [{name: a, url: x, key_env: A, key_cmd: b}, not-an-entry]",
        "fallback_providers: ['openai:m', {model: m}]",
        "auxiliary: {vision: auto, title: {provider: auto, extra_body: {}}}",
        "mcp_servers: {files: {command: x, whatever: 1}}",
        "plugins: {entries: {one: {whatever: 1}}}",
    ],
)
def test_what_is_understood_is_not_told(text):
    assert unknown(text) == {}


def test_other_programs_keys_in_shared_parts_are_not_told_where_none_of_ours_is_like_them():
    assert unknown("terminal: {singularity_image: x}\nmemory: {nudge_interval: 3}\nweb: {backend: x}") == {}
