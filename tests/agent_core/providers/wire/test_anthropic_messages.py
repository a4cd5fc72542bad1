"""The Messages protocol over the wire: what is sent, and what becomes of the answer."""

from __future__ import annotations

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import (
    ProviderItem,
    ReasoningDelta,
    TextDelta,
)
from agent_core.providers.choice import Dialect, ModelFacts
from tests.agent_core.providers.conftest import KEY
from tests.support.agents import events_of_kind
from tests.support.model_server import Reply, ToolCall
from tests.support.model_server import Usage as ServerUsage
from tests.support.raw_server import RawServer, event_stream

CLAUDE = "claude-opus-4-6"
ANSWER = ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "Does it.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def claude(connect):
    """A provider that speaks the protocol, by default with the fake server."""

    def claude(base_url=None, auth="x-api-key", model=CLAUDE, **options):
        return connect(base_url, api_mode="anthropic_messages", dialect=Dialect(auth=auth), model=model, **options)

    return claude


@pytest.fixture
def body(model_server, ask, claude):
    """The body of a request."""

    def body(messages=None, facts=ModelFacts(), **options):  # noqa: B008 - frozen
        model_server.add(Reply("hi"))
        options.setdefault("model", CLAUDE)
        ask(claude(model=options["model"], facts=facts), messages, **options)
        return model_server.requests[-1].body

    return body


def test_a_thought_arrives_and_is_kept_with_its_signature(model_server, ask, claude):
    model_server.add(Reply("Yes.", reasoning="hm, so", split=3))
    events = ask(claude())
    assert events[:3] == [
        ReasoningDelta("hm, so"),
        ProviderItem({"type": "thinking", "thinking": "hm, so", "signature": "signature-1="}),
        TextDelta("Yes."),
    ]


def test_the_next_request_repeats_an_answer_as_it_was_given(model_server, ask, claude):
    calls = [ToolCall("a", "f", {"x": 1}), ToolCall("b", "f", {"x": 2})]
    model_server.add(Reply("Yes.", reasoning="hm", tool_calls=calls), Reply("done"))
    provider = claude()
    events = ask(provider, model=CLAUDE, reasoning="low")
    asked = [tool_call(call.id, call.name, call.arguments_text) for call in calls]
    message = assistant_message("Yes.", asked, "hm")
    message["sealed"] = {
        "api_mode": "anthropic_messages",
        "provider": "custom",
        "model": CLAUDE,
        "items": [event.item for event in events_of_kind(ProviderItem, events)],
    }
    history = [user_message("hello"), message, *[tool_message(call, "1") for call in asked]]
    ask(provider, history, CLAUDE, reasoning="low")
    assert model_server.requests[1].body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "signature-1="},
        {"type": "text", "text": "Yes."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        {"type": "tool_use", "id": "b", "name": "f", "input": {"x": 2}, "cache_control": {"type": "ephemeral"}},
    ]
    assert len({request.connection for request in model_server.requests}) == 1


SEALED = {"api_mode": "anthropic_messages", "provider": "custom", "items": [{"type": "thinking", "thinking": "hm"}]}


@pytest.mark.parametrize(
    ("writer", "effort", "kinds"),
    [(CLAUDE, "low", ["thinking", "text"]), ("claude-opus-4-5", "low", ["text"]), (CLAUDE, "none", ["text"])],
)
def test_a_thought_goes_back_to_its_own_model_while_that_thinks(body, writer, effort, kinds):
    message = {**assistant_message("Yes."), "sealed": {**SEALED, "model": writer}}
    sent = body([user_message("hi"), message, user_message("and?")], reasoning=effort)["messages"]
    assert [block["type"] for block in sent[1]["content"]] == kinds


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", "/v1/messages"),
        ("/", "/v1/messages"),
        ("/v1", "/v1/messages"),
        ("/v1/", "/v1/messages"),
        ("/anthropic", "/anthropic/v1/messages"),
        ("/anthropic/v1", "/anthropic/v1/messages"),
    ],
)
def test_the_address_may_be_given_with_and_without_the_version(ask, claude, path, line):
    with RawServer(event_stream(*ANSWER)) as server:
        ask(claude(server.origin + path))
        assert server.requests[0].line == f"POST {line} HTTP/1.1"


def test_headers_of_the_settings_are_sent_and_win(model_server, ask, claude):
    model_server.add(Reply("hi"))
    extra = (("anthropic-beta", "one-2026,two-2026"), ("Anthropic-Version", "2026-10-21"), ("authorization", "Own x"))
    ask(claude(headers=extra))
    headers = model_server.requests[0].headers
    assert headers["anthropic-beta"] == "one-2026,two-2026"
    assert headers["anthropic-version"] == "2026-10-21"
    assert headers["authorization"] == "Own x"


def test_a_request_holds_only_what_was_asked_for(body):
    history = [{"role": "system", "content": "Be brief."}, user_message("hi")]
    marker = {"cache_control": {"type": "ephemeral"}}
    assert body(history) == {
        "model": CLAUDE,
        "max_tokens": 8192,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", **marker}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **marker}]}],
    }


def test_tools_keep_their_order_and_only_the_protocols_fields(body):
    bare = {"type": "function", "function": {"name": "bare", "strict": True}}
    assert body(tools=[TOOL, bare])["tools"] == [
        {"name": "f", "description": "Does it.", "input_schema": TOOL["function"]["parameters"]},
        {"name": "bare", "input_schema": {"type": "object"}},
    ]


@pytest.mark.parametrize(
    ("model", "effort", "asked", "sent"),
    [
        (CLAUDE, None, 0.3, 0.3),
        (CLAUDE, None, 1.7, 1.0),
        (CLAUDE, "none", 0, 0),
        (CLAUDE, "low", 0.3, None),
        ("claude-opus-4-7", None, 0.3, None),
        (CLAUDE, None, None, None),
    ],
)
def test_a_temperature_is_named_where_the_model_takes_one(body, model, effort, asked, sent):
    assert body(model=model, reasoning=effort, temperature=asked).get("temperature") == sent


def test_effort_the_longer_time_to_live_and_a_limit_of_the_answer(body):
    found = body(reasoning="high", cache_ttl="1h", max_tokens=99)
    assert found["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert found["output_config"] == {"effort": "high"}
    assert found["max_tokens"] == 99
    assert found["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.long
def test_the_fake_server_answers_as_the_sdk_expects(model_server):
    import anthropic  # noqa: PLC0415 - slow to load

    model_server.add(
        *[Reply("Yes.", "hm", [ToolCall("a", "f", {"x": 1})], split=2, usage=ServerUsage(9, 5, 3, 1))] * 2
    )
    question = {"model": CLAUDE, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    base_url = model_server.base_url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=base_url, api_key=KEY, _strict_response_validation=True) as client:
        whole = client.messages.create(**question)
        with client.messages.stream(**question) as stream:
            streamed = stream.get_final_message()
    for message, number in ((whole, 1), (streamed, 2)):
        thought, text, call = message.content
        assert (thought.thinking, thought.signature) == ("hm", f"signature-{number}=")
        assert (text.text, call.name, call.input, message.stop_reason) == ("Yes.", "f", {"x": 1}, "tool_use")
        usage = message.usage
        assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (6, 3, 5)
