"""Requests that a server refuses for one field."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import Dialect
from agent_core.providers.lessons import refused_field
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_server import Reply, Status


def refusal(param, code="unsupported_parameter", status=400):
    return Status(status, {"error": {"message": f"{param} is not supported", "param": param, "code": code}})


def fields(request):
    return set(request.body)


@pytest.mark.parametrize(
    ("param", "dialect", "options", "gone"),
    [
        ("stream_options", Dialect(), {}, "stream_options"),
        ("temperature", Dialect(), {"temperature": 0.5}, "temperature"),
        ("reasoning_effort", Dialect(effort="reasoning_effort"), {"reasoning": "low"}, "reasoning_effort"),
        ("reasoning", Dialect(effort="openrouter"), {"reasoning": "low"}, "reasoning"),
        ("max_tokens", Dialect(), {"max_tokens": 5}, "max_tokens"),
        ("max_completion_tokens", Dialect(max_tokens_field="max_completion_tokens"), {"max_tokens": 5},
         "max_completion_tokens"),
        ("prompt_cache_key", Dialect(cache_key=True), {"session_id": "s"}, "prompt_cache_key"),
    ],
)  # fmt: skip
def test_a_refused_field_is_left_out_at_once_and_from_then_on(
    model_server, connect, ask, param, dialect, options, gone
):
    model_server.add(refusal(param), Reply("hi"), Reply("again"))
    provider = connect(dialect=dialect)
    ask(provider, **options)
    ask(provider, **options)
    first, second, third = model_server.requests
    assert gone in fields(first)
    assert gone not in fields(second)
    assert fields(third) == fields(second)


def test_an_answers_limit_keeps_its_value_under_the_other_name(model_server, connect, ask):
    model_server.add(refusal("max_tokens"), Reply("hi"))
    ask(connect(), max_tokens=77)
    assert model_server.requests[1].body["max_completion_tokens"] == 77


def test_a_summary_of_the_reasoning_that_the_account_may_not_have_is_not_asked_for_again(model_server, connect, ask):
    model_server.add(refusal("reasoning.summary", "unsupported_value"), Reply("hi"))
    ask(connect(api_mode="codex_responses", model="gpt-5"), model="gpt-5")
    first, second = (request.body["reasoning"] for request in model_server.requests)
    assert "summary" in first
    assert "summary" not in second


def test_the_system_prompt_loses_a_role_that_the_server_does_not_know(model_server, connect, ask):
    model_server.add(refusal("messages[0].role", "unsupported_value"), Reply("hi"))
    question = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
    ask(connect(dialect=Dialect(developer_role=True)), messages=question)
    assert [request.body["messages"][0]["role"] for request in model_server.requests] == ["developer", "system"]


def test_a_server_that_refuses_either_name_is_not_asked_for_ever(model_server, connect, ask):
    model_server.add(*[refusal("max_tokens"), refusal("max_completion_tokens")] * 5)
    with pytest.raises(ProviderStatusError):
        ask(connect(), max_tokens=5)
    assert len(model_server.requests) == 5


@pytest.mark.quirk(
    "vLLM, SGLang, LM Studio, Mistral, Together",
    "refuse a field they do not know, each in words of its own",
    "asked again without it, and not sent it for seven days",
)
@each(
    ("body", "dialect", "lesson"),
    [
        ({"error": {"message": "Unrecognized request argument supplied: stream_options"}},
         Dialect(), "stream_options"),
        ({"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"],
                      "msg": "Extra inputs are not permitted", "input": {"include_usage": True, "temperature": 1}}]},
         Dialect(), "stream_options"),
        ({"message": "body.stream_options: Additional properties are not allowed"}, Dialect(), "stream_options"),
        ({"error": "unknown field `prompt_cache_key`"}, Dialect(cache_key=True), "prompt_cache_key"),
        ({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                               "Use 'max_completion_tokens' instead."}}, Dialect(), "max_tokens"),
        ({"error": {"message": "max_completion_tokens: Extra inputs are not permitted"}},
         Dialect(max_tokens_field="max_completion_tokens"), "max_completion_tokens"),
        ({"error": {"message": "Unsupported value: 'temperature' does not support 0.2 with this model. Only the "
                               "default (1) value is supported."}}, Dialect(), "temperature"),
        ({"object": "error", "message": "reasoning_effort is not supported by this model"},
         Dialect(effort="reasoning_effort"), "reasoning_effort"),
        ({"error": {"message": "messages.0.content.0.cache_control: Extra inputs are not permitted"}},
         Dialect(cache_markers=True), "cache_control"),
        ({"error": {"message": "'developer' is not one of ['system', 'assistant', 'user'] - 'messages.0.role'"}},
         Dialect(developer_role=True), "developer"),
        ({"error": {"message": "property 'messages.2.reasoning_content' is unsupported"}},
         Dialect(reasoning_back="reasoning_content"), "reasoning: given"),
        ({"error": {"message": "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}},
         Dialect(), "max_tokens <= 8192"),
        ({"error": {"message": "max_tokens: 64000 > 32000, the maximum allowed number of output tokens"}},
         Dialect(), "max_tokens <= 32000"),
        ({"error": {"message": "max_tokens is too large: 32768. This model takes at most 16384 completion tokens"}},
         Dialect(), "max_tokens <= 16384"),
        ({"error": {"message": "Unable to submit request because it has a maxOutputTokens value of 100000 but the "
                               "supported range is from 1 (inclusive) to 65537 (exclusive). Update the value."}},
         Dialect(), "max_tokens <= 65536"),
        ({"code": "Client specified an invalid argument", "error": "Argument not supported: reasoningEffort"},
         Dialect(effort="reasoning_effort"), "reasoning_effort"),
    ],
)  # fmt: skip
def test_a_refused_field_is_recognised_in_any_words(body, dialect, lesson):
    choice = choice_for("http://h/v1", dialect=dialect)
    for status in (400, 422):
        assert refused_field(choice, ProviderStatusError("no", status, json.dumps(body))) == lesson


@each(
    "said",
    [
        "prompt is too long: 5 tokens > 4 maximum, reduce max_tokens",
        "input length and `max_tokens` exceed context limit: 199999 + 64000 > 200000",
        "The tool schema is invalid: stream_options_x",
        "Input should be a valid string",
        "Invalid tool schema. See https://developers.example.com/docs",
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    ],
)
def test_a_refusal_that_is_about_no_optional_field_is_left_to_others(said):
    dialect = Dialect(developer_role=True, cache_key=True, effort="reasoning_effort")
    problem = ProviderStatusError("no", 400, json.dumps({"error": {"message": said, "param": "messages.[3].role"}}))
    assert refused_field(choice_for("http://h/v1", dialect=dialect), problem) is None


def test_a_figure_that_is_no_answers_limit_is_not_taken_for_one():
    said = json.dumps({"error": {"message": "unexpected upstream error: max_tokens=8000 (worker up to 16 slots)"}})
    assert refused_field(choice_for("http://h/v1"), ProviderStatusError("no", 400, said)) != "max_tokens <= 16"


def test_of_a_refusal_that_lists_what_is_known_only_what_it_is_about_is_learned(model_server, connect, ask):
    said = "Unsupported parameter: 'reasoning_effort'. Supported parameters: temperature, stream_options"
    model_server.add(Status(400, {"error": {"message": said}}), Reply("hi"))
    provider = connect(dialect=Dialect(effort="reasoning_effort", cache_key=True))
    ask(provider, reasoning="low")
    assert [lesson.name for lesson in provider.lessons.of(provider.choice)] == ["reasoning_effort"]


def test_a_refusal_that_stays_the_same_teaches_nothing(model_server, connect, ask):
    said = "temperature must be at most 1. Allowed fields: max_tokens, stream_options"
    model_server.add(*[Status(400, {"error": {"message": said}})] * 2)
    provider = connect()
    with pytest.raises(ProviderStatusError):
        ask(provider, max_tokens=500)
    assert len(model_server.requests) == 2
    assert provider.lessons.of(provider.choice) == []


def test_a_lesson_that_did_not_help_is_not_kept(model_server, connect, ask):
    model_server.add(refusal("stream_options"), refusal("tools"), Reply("hi"))
    provider = connect()
    with pytest.raises(ProviderStatusError):
        ask(provider)
    ask(provider)
    assert ["stream_options" in request.body for request in model_server.requests] == [True, False, True]


def test_an_answer_is_not_asked_to_be_longer_than_the_server_gives(model_server, connect, ask):
    too_long = "max_tokens is too large: 9000. This model supports at most 4000 completion tokens"
    model_server.add(Status(400, {"error": {"message": too_long}}), Reply("hi"), Reply("again"))
    provider = connect()
    ask(provider, max_tokens=9000)
    ask(provider, max_tokens=20)
    assert [request.body["max_tokens"] for request in model_server.requests] == [9000, 4000, 20]


@each(
    ("status", "body"),
    [
        (400, '{"error": {"code": "invalid_value", "param": "model"}}'),
        (400, '{"error": {"code": "unsupported_parameter", "param": "tools"}}'),
        (400, '{"error": {"code": "unsupported_parameter"}}'),
        (400, '{"error": "unsupported_parameter"}'),
        (400, "[1]"),
        (400, "not JSON"),
        (500, '{"error": {"code": "unsupported_parameter", "param": "temperature"}}'),
        (None, '{"error": {"code": "unsupported_parameter", "param": "temperature"}}'),
    ],
)
def test_any_other_failure_is_left_to_others(status, body):
    assert refused_field(choice_for("http://h/v1"), ProviderStatusError("no", status, body)) is None


def test_a_field_that_was_left_out_already_is_no_reason_to_ask_again():
    problem = ProviderStatusError(
        "no", 400, '{"error": {"code": "unsupported_parameter", "param": "stream_options"}}'
    )
    assert refused_field(choice_for("http://h/v1", dialect=Dialect(stream_usage=False)), problem) is None
