"""The Responses API over the wire: what is sent, and what becomes of the answer."""

from __future__ import annotations

import json

import pytest

from agent_core.messages import SealedItems, assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import (
    ModelRequest,
    ProviderItem,
    TextDelta,
)
from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.responses import CODEX_RESPONSES
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_server import Reply, ToolCall

HELLO = [user_message("hello")]
THINKS, DOES_NOT = ModelFacts(reasoning=True), ModelFacts(reasoning=False)
CHATGPT = "https://chatgpt.example/backend-api/codex"
TOOL = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}


@pytest.fixture
def server(connect):
    """The fake server, asked in this protocol; options are fields of the choice."""
    return lambda **options: connect(api_mode="codex_responses", **options)


@pytest.fixture
def answer(server, ask):
    """All events of the answer to one question; options are fields of the request."""
    return lambda **options: ask(server(), **options)


def encoded(model="gpt-5", base_url="https://models.example/v1", messages=HELLO, **fields):
    choice = {key: fields.pop(key) for key in ("facts", "dialect") if key in fields}
    return CODEX_RESPONSES.encode(
        ModelRequest(model, messages, **fields),
        choice_for(base_url, model=model, api_mode="codex_responses", **choice),
    )


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(("provider", "goes_back"), [("openai", True), ("azure", False)])
def test_sealed_reasoning_goes_back_to_the_model_that_sealed_it_and_to_no_other(
    model_server, server, ask, provider, goes_back
):
    call = ToolCall("a", "t", {})
    model_server.add(Reply(reasoning="Hm.", sealed_reasoning="gAAA", tool_calls=[call]), Reply("Done."))
    items = [event.item for event in ask(server(name="openai")) if isinstance(event, ProviderItem)]
    said = assistant_message("", [tool_call("a", "t", "{}")], reasoning="Hm.")
    said["sealed"] = SealedItems(api_mode="codex_responses", provider="openai", model="test-model", items=items)
    ask(server(name=provider), messages=[*HELLO, said, tool_message(said["tool_calls"][0], "done")])
    sent = model_server.requests[1].body["input"]
    reasoning = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "gAAA",
    }
    assert sent[1:] == [
        *([reasoning] if goes_back else []),
        {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "done"},
    ]
    assert "Hm." not in json.dumps([item for item in sent if item["type"] != "reasoning"])


def test_the_request_is_a_streamed_one_that_stores_nothing_and_has_nothing_that_was_not_asked_for(
    model_server, answer
):
    model_server.add(Reply("hi"))
    answer()
    request = model_server.requests[0]
    assert request.path == "/v1/responses"
    assert request.body == {
        "model": "test-model",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
        "stream": True,
        "store": False,
    }


def test_tools_are_sent_flat_and_not_strict():
    body = encoded(tools=[TOOL])
    assert body["tools"] == [
        {"type": "function", "name": "t", "description": "d", "parameters": {"type": "object"}, "strict": False}
    ]
    assert body["parallel_tool_calls"] is True


@pytest.mark.parametrize(("asked", "sent"), [(None, None), (4, 16), (16, 16), (99, 99)])
def test_a_bound_of_the_answer_is_never_below_the_least_that_the_api_takes(asked, sent):
    assert encoded(max_tokens=asked).get("max_output_tokens") == sent


@each(
    ("model", "facts", "asked", "sent"),
    [
        ("gpt-5", THINKS, None, {"summary": "auto"}),
        ("gpt-5", ModelFacts(), None, {"summary": "auto"}),
        ("gpt-5", THINKS, "high", {"effort": "high", "summary": "auto"}),
        ("gpt-5", THINKS, "none", {"effort": "minimal", "summary": "auto"}),
        ("gpt-5.1", THINKS, "none", {"effort": "none"}),
        ("grok-4", ModelFacts(), "low", {"effort": "low", "summary": "auto"}),
        ("grok-4", ModelFacts(), None, None),
        ("gpt-4o", ModelFacts(), "low", None),
        ("gpt-5-chat-latest", THINKS, "low", None),
        ("any", DOES_NOT, "low", None),
    ],
)
def test_reasoning_is_asked_for_where_the_model_reasons_and_comes_sealed(model, facts, asked, sent):
    body = encoded(model, facts=facts, reasoning=asked)
    assert body.get("reasoning") == sent
    assert body.get("include") == (["reasoning.encrypted_content"] if sent else None)


@each(
    ("model", "facts", "sent"),
    [
        ("any", THINKS, None),
        ("any", ModelFacts(), 0.2),
        ("any", DOES_NOT, 0.2),
        ("gpt-5", ModelFacts(), None),
        ("gpt-5-chat-latest", ModelFacts(), None),
        ("gpt-4o", ModelFacts(), 0.2),
    ],
)
def test_a_temperature_goes_only_to_models_that_take_it(model, facts, sent):
    assert encoded(model, facts=facts, temperature=0.2).get("temperature") == sent


def test_the_session_is_the_caches_key_where_the_server_knows_one():
    assert encoded(session_id="s-1", dialect=Dialect(cache_key=True))["prompt_cache_key"] == "s-1"
    assert "prompt_cache_key" not in encoded(session_id="s-1")
    assert "prompt_cache_key" not in encoded(dialect=Dialect(cache_key=True))


def test_the_server_behind_chatgpt_gets_instructions_and_no_limits():
    body = encoded("codex-next", CHATGPT, facts=DOES_NOT, max_tokens=99, temperature=0.2)
    assert body["instructions"]
    assert not {"max_output_tokens", "temperature"} & set(body)
    assert body["store"] is False
    prompt = [{"role": "system", "content": "be brief"}, *HELLO]
    assert encoded("codex-next", CHATGPT, messages=prompt)["instructions"] == "be brief"
    assert encoded("codex-next", CHATGPT)["include"] == ["reasoning.encrypted_content"]
