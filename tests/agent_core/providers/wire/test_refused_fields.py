"""Requests that a server refuses for one field."""

from __future__ import annotations

import pytest

from agent_core.errors import ProviderStatusError
from agent_core.providers.choice import Dialect
from agent_core.providers.wire.refused_fields import without_refused
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


@each(
    ("status", "body"),
    [
        (400, '{"error": {"code": "invalid_value", "param": "temperature"}}'),
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
    assert without_refused(choice_for("http://h/v1"), ProviderStatusError("no", status, body)) is None


def test_a_field_that_was_left_out_already_is_no_reason_to_ask_again():
    problem = ProviderStatusError(
        "no", 400, '{"error": {"code": "unsupported_parameter", "param": "stream_options"}}'
    )
    assert without_refused(choice_for("http://h/v1", dialect=Dialect(stream_usage=False)), problem) is None
