"""How a side task is put to a model: with the user's limits, little thinking, and only what the model takes."""

from __future__ import annotations

import pytest

from tests.support.model_server import Reply, Usage
from tests.support.side_tasks import LIMIT_FIELD, PATHS, QUESTION, at, key_of, refusal
from tests.support.wire_agents import KEY


def test_the_tasks_own_model_answers_as_the_settings_have_it(model_server, second, auxiliary, protocol):
    model_server.add(Reply(" A title.\n", reasoning="hm", usage=Usage(7, 3)))
    own = at(model_server, protocol, model="small-model", max_tokens=44)
    client = auxiliary(model=at(second, default="test-model"), auxiliary={"title": own})
    completion = client.complete("title", QUESTION, max_tokens=99, temperature=0.25)
    assert (completion.text, completion.model, completion.truncated) == ("A title.", "custom:small-model", False)
    assert (completion.usage.input_tokens, completion.usage.output_tokens, completion.cost) == (7, 3, None)
    (request,) = model_server.requests
    assert request.path.endswith(PATHS[protocol])
    assert (request.model, request.body[LIMIT_FIELD[protocol]], request.body["temperature"]) == (
        "small-model",
        44,
        0.25,
    )
    assert key_of(request) == KEY
    assert "tools" not in request.body
    assert b"cache_control" not in request.raw
    assert second.requests == []


@pytest.mark.parametrize(("task", "name"), [("title", "title_generation"), ("poem", "poem")])
def test_a_task_may_have_the_name_that_other_programs_know_or_any(model_server, auxiliary, task, name):
    model_server.add(Reply("yes"))
    client = auxiliary(model=at(model_server, default="test-model"), auxiliary={name: {"model": "small-model"}})
    assert client.complete(task, QUESTION).model == "custom:small-model"


@pytest.mark.parametrize(
    ("task", "written", "seconds"),
    [("title", {}, 30), ("compression", {}, 120), ("poem", {}, 30), ("compression", {"timeout": 7.5}, 7.5)],
)
def test_each_task_has_its_time(model_server, auxiliary, alarm, task, written, seconds):
    model_server.add(Reply("yes"))
    auxiliary(model=at(model_server, default="test-model"), auxiliary={task: written}).complete(task, QUESTION)
    assert alarm.seconds == [seconds]


WITHOUT_TEMPERATURE = [
    ("openai", "o3", "chat_completions"),
    ("openai", "gpt-5-nano", "codex_responses"),
    ("moonshot", "kimi-k2.5", "chat_completions"),
    ("anthropic", "claude-opus-4-7", "anthropic_messages"),
]


@pytest.mark.parametrize(("provider", "model", "mode"), WITHOUT_TEMPERATURE)
def test_a_model_with_a_fixed_temperature_is_sent_none(model_server, auxiliary, provider, model, mode):
    model_server.add(Reply("A title."))
    client = auxiliary(model=at(model_server, mode, default=model) | {"provider": provider})
    assert client.complete("title", QUESTION, temperature=0.0).model == f"{provider}:{model}"
    assert "temperature" not in model_server.requests[0].body


@pytest.mark.parametrize("mode", ["chat_completions", "codex_responses"])
def test_a_model_that_refuses_a_temperature_answers_without_it_and_is_not_sent_one_again(
    model_server, auxiliary, mode
):
    model_server.add(refusal(400, code="unsupported_value", param="temperature"), Reply("one"), Reply("two"))
    client = auxiliary(model=at(model_server, mode, default="test-model"))
    assert [client.complete("title", QUESTION, temperature=0.0).text for _ in range(2)] == ["one", "two"]
    assert ["temperature" in request.body for request in model_server.requests] == [True, False, False]


EFFORTS = [
    ("openai", "o3", "chat_completions", {"reasoning_effort": "low"}),
    ("openai", "gpt-5-nano", "chat_completions", {"reasoning_effort": "minimal"}),
    ("openai", "gpt-4o", "chat_completions", {}),
    ("openai", "gpt-5-nano", "codex_responses", {"reasoning": {"effort": "minimal", "summary": "auto"}}),
    ("openai", "gpt-4o", "codex_responses", {}),
    ("custom", "unheard-of", "chat_completions", {}),
    ("custom", "unheard-of", "codex_responses", {}),
    ("custom", "unheard-of", "anthropic_messages", {}),
    ("openrouter", "openai/gpt-4o", "chat_completions", {}),
    ("openrouter", "openai/gpt-5-nano", "chat_completions", {"reasoning": {"effort": "minimal"}}),
    ("openrouter", "anthropic/claude-sonnet-4.5", "chat_completions", {}),
    ("gemini", "gemini-2.5-flash", "chat_completions", {"reasoning_effort": "low"}),
    ("anthropic", "claude-haiku-4-5", "anthropic_messages", {}),
    ("anthropic", "claude-sonnet-5", "anthropic_messages", {"thinking": {"type": "disabled"}}),
]


@pytest.mark.parametrize(("provider", "model", "mode", "asked"), EFFORTS)
def test_a_model_is_asked_to_think_little_where_it_can_be_asked(
    model_server, auxiliary, provider, model, mode, asked
):
    model_server.add(Reply("A title."))
    client = auxiliary(
        model=at(model_server, mode, default=model) | {"provider": provider}, agent={"reasoning_effort": "high"}
    )
    assert client.complete("title", QUESTION).text == "A title."
    words = ("reasoning", "reasoning_effort", "thinking", "output_config")
    body = model_server.requests[0].body
    assert {word: body[word] for word in words if word in body} == asked


@pytest.mark.parametrize(
    ("model", "own", "users", "sent"),
    [
        ("test-model", {}, {}, 50),
        ("test-model", {}, {"max_tokens": 30}, 30),
        ("test-model", {"max_tokens": 70}, {"max_tokens": 30}, 70),
        ("qwq-32b", {}, {}, 50 + 2048),
        ("qwq-32b", {}, {"max_tokens": 900}, 900),
        ("qwq-32b", {"max_tokens": 20}, {}, 20),
    ],
)
def test_the_limit_of_an_answer_leaves_room_to_think_but_never_exceeds_the_users(
    model_server, auxiliary, model, own, users, sent
):
    model_server.add(Reply("A title."))
    client = auxiliary(model=at(model_server, default=model, **users), auxiliary={"title": own})
    assert client.complete("title", QUESTION, max_tokens=50).text == "A title."
    assert model_server.requests[0].body["max_tokens"] == sent


def test_no_model_is_asked_for_a_longer_answer_than_it_can_give(model_server, auxiliary):
    model_server.add(Reply("A summary."))
    client = auxiliary(model=at(model_server, default="gpt-3.5-turbo") | {"provider": "openai"})
    assert client.complete("compression", QUESTION, max_tokens=9000).text == "A summary."
    assert model_server.requests[0].body["max_completion_tokens"] == 4096
