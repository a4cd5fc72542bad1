"""How each generation of Claude, and any other model, is asked to think."""

from __future__ import annotations

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.anthropic_messages import Claude, claude, thinking
from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelFacts
from tests.support.choices import choice_for
from tests.support.each import each

NEWEST = (99, 0)
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
NAMES = {
    "claude-3-5-haiku-20241022": Claude("haiku", (3, 5)),
    "claude-3-7-sonnet-20250219": Claude("sonnet", (3, 7)),
    "claude-4-opus-20250514": Claude("opus", (4, 0)),
    "claude-sonnet-4-20250514": Claude("sonnet", (4, 0)),
    "claude-opus-4-1@20250805": Claude("opus", (4, 1)),
    "anthropic/claude-opus-4.6": Claude("opus", (4, 6)),
    "us.anthropic.claude-opus-4-6-v1": Claude("opus", (4, 6)),
    "Claude-Haiku-5-5": Claude("haiku", (5, 5)),
    "claude-sonnet-5": Claude("sonnet", (5, 0)),
    "claude-mythos-preview": Claude("", NEWEST),
    "claude-instant-1.2": Claude("instant", (1, 2)),
    "glm-4.6": None,
    "test-model": None,
}
# model, effort, `thinking`, `effort`, whether thoughts go back, whether a temperature may be named
PLANS = [
    ("claude-3-5-haiku-latest", "high", None, None, True, True),
    ("claude-sonnet-4-5", None, None, None, False, True),
    ("claude-sonnet-4-5", "none", None, None, False, True),
    ("claude-sonnet-4-5", "low", {"type": "enabled", "budget_tokens": 4096}, None, True, False),
    ("claude-opus-4-6", None, None, None, False, True),
    ("claude-opus-4-6", "none", None, None, False, True),
    ("claude-opus-4-6", "minimal", ADAPTIVE, "low", True, False),
    ("claude-opus-4-6", "xhigh", ADAPTIVE, "max", True, False),
    ("claude-opus-4-7", None, None, None, False, False),
    ("claude-opus-4-8", "xhigh", ADAPTIVE, "xhigh", True, False),
    ("claude-opus-5", None, ADAPTIVE, None, True, False),
    ("claude-opus-5", "none", {"type": "disabled"}, None, False, False),
    ("claude-haiku-5-5", "none", {"type": "disabled"}, None, False, False),
    ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None, True, False),
    ("claude-opus-5-5", "none", ADAPTIVE, "low", True, False),
    ("claude-fable-5-1", "medium", ADAPTIVE, "medium", True, False),
    ("claude-mythos-preview", "xhigh", ADAPTIVE, "max", True, False),
    ("test-model", None, None, None, True, True),
    ("test-model", "none", None, None, True, True),
    ("test-model", "high", None, None, True, True),
]


def plan(model, effort=None, messages=(), facts=ModelFacts(), context_length=None, **options):  # noqa: B008 - frozen
    choice = choice_for("http://h.example", model=model, facts=facts, context_length=context_length)
    return thinking(ModelRequest(model, [user_message("hi"), *messages], reasoning=effort, **options), choice)


@each("name", NAMES)
def test_a_name_tells_which_claude_it_is(name):
    assert claude(name) == NAMES[name]


@each(("model", "effort", "asked", "level", "back", "sampling"), PLANS)
def test_each_model_is_asked_in_its_own_way(model, effort, asked, level, back, sampling):
    found = plan(model, effort, max_tokens=16_000)
    assert found.fields.get("thinking") == asked
    assert found.fields.get("output_config") == ({"effort": level} if level else None)
    assert (found.sends_back, found.sampling) == (back, sampling)


@pytest.mark.parametrize(
    ("effort", "asked", "back"),
    [
        (None, None, True),
        ("none", {"type": "disabled"}, False),
        ("low", {"type": "enabled", "budget_tokens": 4096}, True),
    ],
)
def test_another_model_is_asked_only_where_it_is_known_to_reason(effort, asked, back):
    found = plan("test-model", effort, facts=ModelFacts(reasoning=True), max_tokens=16_000)
    assert found.fields == ({"thinking": asked} if asked else {})
    assert found.sends_back == back


def test_a_model_that_is_known_not_to_reason_is_not_asked_whatever_its_name():
    assert plan("claude-opus-5", "high", facts=ModelFacts(reasoning=False)).fields == {}


# effort, the answer's limit, the model's own → the budget, the limit that is sent
BUDGETS = [
    ("low", 32_000, None, 4096, 32_000),
    ("high", 8192, 64_000, 12_288, 24_576),
    ("high", 20_000, 64_000, 16_384, 36_384),
    ("xhigh", 8192, None, 4096, 8192),
    ("medium", 1500, None, 1024, 1500),
    ("medium", 1024, None, None, 1024),
    ("low", 500, 8000, 2298, 4596),
    ("xhigh", None, 128_000, 32_768, 128_000),
]


@each(("effort", "limit", "most", "budget", "sent"), BUDGETS)
def test_the_budget_fits_into_the_answer(effort, limit, most, budget, sent):
    found = plan("claude-sonnet-4-5", effort, facts=ModelFacts(max_output=most), max_tokens=limit)
    assert found.fields.get("thinking", {}).get("budget_tokens") == budget
    assert found.max_tokens == sent


# the request's limit, the model's, the known window, the user's window → what is sent
LIMITS = [
    (None, None, None, None, 8192),
    (None, 64_000, 200_000, None, 64_000),
    (99, 64_000, 200_000, None, 99),
    (None, None, 4096, None, 4096),
    (None, 64_000, 200_000, 10_000, 10_000),
]


@each(("asked", "most", "window", "set_window", "sent"), LIMITS)
def test_the_answer_always_has_a_limit(asked, most, window, set_window, sent):
    facts = ModelFacts(max_output=most, context_length=window)
    assert plan("claude-opus-4-6", facts=facts, max_tokens=asked, context_length=set_window).max_tokens == sent


CALL = tool_call("a", "f", "{}")
SEALED = {
    "api_mode": "chat_completions",
    "provider": "custom",
    "model": "claude-sonnet-4-5",
    "items": [{"type": "x"}],
}
OPEN_LOOPS = {
    "another model's call": ([assistant_message("", [CALL]), tool_message(CALL, "1")], False),
    "the same with a word of the user": (
        [assistant_message("", [CALL]), tool_message(CALL, "1"), user_message("x")],
        False,
    ),
    "its own call": ([{**assistant_message("", [CALL]), "sealed": SEALED}, tool_message(CALL, "1")], True),
    "another model's answer": ([assistant_message("hi"), user_message("and?")], True),
}


@pytest.mark.parametrize("kind", OPEN_LOOPS)
def test_with_a_budget_a_model_thinks_only_if_it_thought_before_the_calls_that_are_answered(kind):
    messages, thinks = OPEN_LOOPS[kind]
    assert ("thinking" in plan("claude-sonnet-4-5", "low", messages).fields) == thinks
    assert "thinking" in plan("claude-opus-4-6", "low", messages).fields
