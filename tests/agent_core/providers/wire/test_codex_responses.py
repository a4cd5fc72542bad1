"""The Responses API over the wire: what is sent, and what becomes of the answer."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderProtocolError, ProviderStatusError
from agent_core.messages import SealedItems, assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    ProviderItem,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import Dialect, ModelFacts
from agent_core.providers.responses import CODEX_RESPONSES
from tests.agent_core.providers.conftest import KEY
from tests.support.agents import in_background
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_server import Disconnect, Garbage, Gate, Hang, Reply, Status, ToolCall
from tests.support.model_server import Usage as ServerUsage

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


def stream_of(*payloads):
    return Garbage(b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads))


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_text_arrives_whole_and_ends_with_usage_and_reason(model_server, answer):
    model_server.add(Reply("Grüße!", split=3, usage=ServerUsage(11, 7, 5, 3)))
    assert answer() == [
        TextDelta("Grüße!"),
        UsageReport(Usage(11, 7, 5, 3, 0)),
        Finished("stop"),
    ]


def test_pieces_are_there_before_the_answer_is_complete(model_server, server):
    gate = Gate()
    model_server.add(Reply("one two", split=4, gate=gate, gate_after=1))
    stream = iter(server().stream(ModelRequest("test-model", HELLO)))
    assert next(stream) == TextDelta("one ")
    assert not gate.is_set()
    gate.set()
    assert next(stream) == TextDelta("two")
    assert list(stream)[-1] == Finished("stop")


def test_parallel_calls_with_interleaved_arguments(model_server, answer):
    calls = [ToolCall("a", "read_file", {"path": "x.py"}), ToolCall("b", "read_file", {"path": "y.py"})]
    model_server.add(Reply("Both:", tool_calls=calls, split=4))
    events = answer()
    assert [event for event in events if isinstance(event, ToolCallStarted)] == [
        ToolCallStarted(1, "a", "read_file"),
        ToolCallStarted(2, "b", "read_file"),
    ]
    pieces = [event for event in events if isinstance(event, ToolCallArguments)]
    assert [piece.index for piece in pieces[:4]] == [1, 2, 1, 2]
    for index, call in enumerate(calls, 1):
        assert json.loads("".join(piece.text for piece in pieces if piece.index == index)) == call.arguments
    assert events[-1] == Finished("tool_calls")


def test_reasoning_is_told_in_paragraphs_before_the_text(model_server, answer):
    model_server.add(Reply("Four.", reasoning="Two.\n\nAnd two."))
    assert answer()[:2] == [ReasoningDelta("Two.\n\nAnd two."), TextDelta("Four.")]


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


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("cut", finish_reason="length"), "length"),
        (Reply(tool_calls=[ToolCall("a", "t", '{"n": ')], finish_reason="length"), "length"),
        (Reply("no", finish_reason="content_filter"), "refusal"),
        (stream_of({"type": "response.refusal.delta", "delta": "no"}, {"type": "response.completed"}), "refusal"),
    ],
)
def test_why_the_answer_ended(model_server, answer, reply, reason):
    model_server.add(reply)
    assert answer()[-1] == Finished(reason)


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": f"broke {KEY}"}}},
        {"type": "error", "code": "server_error", "message": f"broke {KEY}"},
    ],
)
def test_a_failure_within_the_answer_names_the_server_and_hides_the_key(model_server, answer, payload):
    model_server.add(stream_of({"type": "response.output_text.delta", "delta": "so far"}, payload))
    with pytest.raises(ProviderStatusError, match=r"broke \[key\]") as caught:
        answer()
    assert model_server.base_url in str(caught.value)
    assert KEY not in str(caught.value)


def test_an_error_status_is_told(model_server, answer):
    model_server.add(Status(429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}))
    with pytest.raises(ProviderStatusError, match=r"429.*slow down"):
        answer()


def test_an_answer_that_breaks_off_is_no_complete_one(model_server, answer):
    model_server.add(Disconnect(Reply("one two", split=4), after=1), stream_of({"type": "response.created"}))
    for _ in range(2):
        with pytest.raises(ProviderConnectionError) as caught:
            answer()
        assert caught.value.fault == "cut"


def test_rubbish_in_the_answer_is_told(model_server, answer):
    model_server.add(Garbage())
    with pytest.raises(ProviderProtocolError, match=model_server.base_url):
        answer()


def test_two_requests_use_one_connection(model_server, server, ask):
    model_server.add(Reply("one"), Reply("two"))
    provider = server()
    assert [text_of(ask(provider)), text_of(ask(provider))] == ["one", "two"]
    first, second = model_server.requests
    assert first.connection == second.connection


@pytest.mark.parametrize("reply", [Hang(before_headers=True), Hang(Reply("one two", split=4), after=1)])
def test_a_blocked_answer_ends_when_it_is_given_up(model_server, server, reply):
    model_server.add(reply)
    stream = server().stream(ModelRequest("test-model", HELLO))
    running = in_background(lambda: list(stream))
    request = model_server.wait_for_request()
    stream.close()
    with pytest.raises(ProviderError):
        running.result(5)
    assert request.disconnected.wait(5)


@pytest.mark.parametrize(
    ("auth", "sent"), [("bearer", {"authorization": f"Bearer {KEY}"}), ("api-key", {"api-key": KEY})]
)
def test_the_key_is_sent_in_the_header_where_the_server_looks_for_it(model_server, connect, ask, auth, sent):
    model_server.add(Reply("hi"))
    ask(connect(api_mode="codex_responses", dialect=Dialect(auth=auth), headers=(("X-Title", "test"),)))
    headers = model_server.requests[0].headers
    assert {name: value for name, value in headers.items() if KEY in value} == sent
    assert headers["x-title"] == "test"


def test_what_the_environment_says_of_an_openai_account_is_not_sent(model_server, answer, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    model_server.add(Reply("hi"))
    answer()
    headers = model_server.requests[0].headers
    assert "secret" not in str(headers)
    assert not {"openai-organization", "openai-project"} & set(headers)


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


def test_text_that_is_not_valid_unicode_can_be_sent(model_server, answer):
    model_server.add(Reply("hi"))
    answer(messages=[user_message("half a pair: \ud83d, ünïcode: 語")])
    assert "ünïcode: 語" in model_server.requests[0].body["input"][0]["content"][0]["text"]


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
