"""Chat Completions over the wire: what is sent, and what becomes of the answer."""

from __future__ import annotations

import json

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.choice import Dialect, ModelFacts
from tests.agent_core.providers.conftest import KEY
from tests.support.agents import events_of_kind, in_background
from tests.support.model_server import Garbage, Gate, ModelServer, Reply, ToolCall
from tests.support.model_server import Usage as ServerUsage
from tests.support.raw_server import RawServer, event_stream


def text_of(events):
    return "".join(event.text for event in events_of_kind(TextDelta, events))


def test_text_arrives_whole_and_ends_with_usage_and_reason(model_server, ask):
    model_server.add(Reply("Grüße!", split=3, usage=ServerUsage(11, 7, 5, 3)))
    assert ask() == [
        TextDelta("Grüße!"),
        UsageReport(Usage(11, 7, 5, 3)),
        Finished("stop"),
    ]


def test_pieces_are_there_before_the_answer_is_complete(model_server, connect, ask):
    gate = Gate()
    model_server.add(Reply("one two", split=4, gate=gate, gate_after=1))
    stream = iter(connect().stream(ModelRequest("test-model", [user_message("hello")])))
    assert next(stream) == TextDelta("one ")
    assert not gate.is_set()
    gate.set()
    assert next(stream) == TextDelta("two")
    assert list(stream)[-1] == Finished("stop")


def test_parallel_calls_with_interleaved_arguments(model_server, ask):
    calls = [ToolCall("a", "read_file", {"path": "x.py"}), ToolCall("b", "read_file", {"path": "y.py"})]
    model_server.add(Reply("Both:", tool_calls=calls, split=4))
    events = ask()
    assert events_of_kind(ToolCallStarted, events) == [
        ToolCallStarted(0, "a", "read_file"),
        ToolCallStarted(1, "b", "read_file"),
    ]
    pieces = events_of_kind(ToolCallArguments, events)
    assert [piece.index for piece in pieces[:4]] == [0, 1, 0, 1]
    for index, call in enumerate(calls):
        assert json.loads("".join(piece.text for piece in pieces if piece.index == index)) == call.arguments
    assert text_of(events) == "Both:"
    assert events[-1] == Finished("tool_calls")


@pytest.mark.parametrize("index", [{"index": None}, {}], ids=["null", "absent"])
def test_calls_without_an_index_are_counted_and_their_arguments_may_be_an_object(model_server, ask, index):
    calls = [{**index, "id": name, "function": {"name": "t", "arguments": {"n": name}}} for name in ("a", "b")]
    body = json.dumps({"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]})
    model_server.add(Garbage(f"data: {body}\n\n".encode()))
    assert ask() == [
        ToolCallStarted(0, "a", "t"),
        ToolCallArguments(0, '{"n": "a"}'),
        ToolCallStarted(1, "b", "t"),
        ToolCallArguments(1, '{"n": "b"}'),
        Finished("tool_calls"),
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_by_either_name(model_server, ask, field):
    model_server.add(Reply("yes", reasoning="hm", reasoning_field=field))
    assert ask()[:2] == [ReasoningDelta("hm"), TextDelta("yes")]


@pytest.mark.parametrize(
    ("sent", "meant"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("tool_calls", "tool_calls")],
)
def test_finish_reasons(model_server, ask, sent, meant):
    model_server.add(Reply("so far", finish_reason=sent))
    assert ask()[-1] == Finished(meant)


def test_a_server_that_does_not_count_tokens(model_server, ask):
    model_server.add(Reply("hi", usage=None))
    assert ask() == [TextDelta("hi"), Finished("stop")]


def test_two_requests_use_one_connection(model_server, connect, ask):
    model_server.add(Reply("one"), Reply("two"))
    provider = connect()
    assert [text_of(ask(provider)), text_of(ask(provider))] == ["one", "two"]
    first, second = model_server.requests
    assert first.connection == second.connection


def test_closing_a_finished_answer_does_not_end_the_next_one_on_its_connection(model_server, connect):
    gate = Gate()
    model_server.add(Reply("one"), Reply("two", gate=gate))
    provider, request = connect(), ModelRequest("test-model", [user_message("hello")])
    finished = provider.stream(request)
    list(finished)
    running = in_background(lambda: list(provider.stream(request)))
    assert gate.reached.wait(5)
    finished.close()
    gate.set()
    assert text_of(running.result(5)) == "two"
    assert len({asked.connection for asked in model_server.requests}) == 1


def test_two_providers_at_once_do_not_mix(connect, ask, model_server):
    gates = [Gate(), Gate()]
    with ModelServer(Reply("from the other", gate=gates[1])) as other:
        model_server.add(Reply("from the one", gate=gates[0]))
        running = [in_background(lambda p=p: ask(p)) for p in (connect(), connect(other.base_url, "sk-other"))]
        for gate in gates:
            assert gate.reached.wait(5)
            gate.set()
        assert [text_of(answer.result(5)) for answer in running] == ["from the one", "from the other"]
        assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert other.requests[0].headers["authorization"] == "Bearer sk-other"


def test_the_request_is_a_streamed_one_with_usage_and_without_what_was_not_asked_for(model_server, ask):
    model_server.add(Reply("hi"))
    ask()
    assert model_server.requests[0].body == {
        "model": "test-model",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_are_sent_as_they_are(model_server, ask):
    tool = {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"type": "object"}}}
    model_server.add(Reply("hi"))
    ask(tools=[tool])
    assert model_server.requests[0].body["tools"] == [tool]


def test_what_is_only_ours_is_never_sent(model_server, ask):
    call = tool_call("a", "todo", "{}")
    history = [
        {"role": "system", "content": "s"},
        user_message("go"),
        assistant_message("", [call], reasoning="secret thought"),
        tool_message(call, "{}"),
        assistant_message("done", reasoning="secret thought"),
        user_message([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:x"}}]),
    ]
    model_server.add(Reply("hi"))
    ask(messages=history)
    assert model_server.requests[0].body["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "{}"},
        {"role": "assistant", "content": "done"},
        history[-1],
    ]


MISTRAL = Dialect(stream_usage=False, nine_in_ids=True)


def test_words_behind_a_tools_result_are_told_to_mistral_after_a_message_of_the_models_own(
    model_server, connect, ask
):
    calls = [tool_call("call00001", "todo", "{}"), tool_call("call00002", "todo", "{}")]
    begun = [
        user_message("go"),
        assistant_message("", calls),
        *(tool_message(call, "{}") for call in calls),
    ]
    steered = [*begun, user_message([LOOK, PICTURE])]
    later = [*steered, assistant_message("I do."), user_message("and now?")]
    provider = connect(dialect=MISTRAL)
    for messages in (begun, steered, later):
        model_server.add(Reply("hi"))
        ask(provider, messages)
    first, second, third = (request.body["messages"] for request in model_server.requests)
    assert [message["role"] for message in second] == ["user", "assistant", "tool", "tool", "assistant", "user"]
    assert second[-2]["content"].strip()
    assert second[-1]["content"] == [LOOK, PICTURE]
    # Each request begins with the whole of the one before.
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert [message["role"] for message in third[len(second) :]] == ["assistant", "user"]


def test_other_servers_are_sent_words_right_behind_a_tools_result(model_server, ask):
    call = tool_call("a", "todo", "{}")
    model_server.add(Reply("hi"))
    ask(messages=[user_message("go"), assistant_message("", [call]), tool_message(call, "{}"), user_message("stop")])
    roles = [message["role"] for message in model_server.requests[0].body["messages"]]
    assert roles == ["user", "assistant", "tool", "user"]


DOCUMENT = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
LOOK = {"type": "text", "text": "look"}


def test_documents_go_where_the_server_takes_them(model_server, connect, ask):
    model_server.add(Reply("hi"))
    ask(connect(dialect=Dialect(files=True)), [user_message([LOOK, DOCUMENT])])
    assert model_server.requests[0].body["messages"][0]["content"] == [LOOK, DOCUMENT]


def test_elsewhere_a_note_stands_in_place_of_a_document(model_server, ask):
    model_server.add(Reply("hi"))
    ask(messages=[user_message([LOOK, DOCUMENT, PICTURE])])
    note = {"type": "text", "text": "[A document was attached, a.pdf; this server takes no documents.]"}
    assert model_server.requests[0].body["messages"][0]["content"] == [LOOK, note, PICTURE]


def test_a_server_that_takes_texts_only_is_sent_plain_text(model_server, connect, ask):
    model_server.add(Reply("hi"))
    ask(connect(facts=ModelFacts(vision=False)), [user_message([LOOK, PICTURE, DOCUMENT])])
    assert model_server.requests[0].body["messages"][0]["content"] == (
        "look\n"
        "[An image was attached; the model test-model does not take images.]\n"
        "[A document was attached, a.pdf; this server takes no documents.]"
    )


def test_text_that_is_not_valid_unicode_can_be_sent(model_server, ask):
    model_server.add(Reply("hi"))
    ask(messages=[user_message("half a pair: \ud83d, ünïcode: 語")])
    assert "ünïcode: 語" in model_server.requests[0].body["messages"][0]["content"]


def test_a_bound_of_the_answer_has_the_old_name_for_compatible_servers(model_server, ask):
    model_server.add(Reply("hi"))
    ask(max_tokens=99)
    assert model_server.requests[0].body["max_tokens"] == 99
    assert "max_completion_tokens" not in model_server.requests[0].body


def test_a_bound_of_the_answer_has_the_new_name_for_openai(connect, ask, monkeypatch):
    # Seen by a proxy, which gets the request for that host.
    with RawServer(event_stream({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]})) as proxy:
        monkeypatch.setenv("http_proxy", proxy.origin)
        assert (
            text_of(
                ask(
                    connect(
                        "http://api.openai.com/v1",
                        name="openai",
                        dialect=Dialect(max_tokens_field="max_completion_tokens"),
                    ),
                    max_tokens=99,
                )
            )
            == "hi"
        )
        assert proxy.requests[0].body["max_completion_tokens"] == 99
        assert "max_tokens" not in proxy.requests[0].body


def test_a_request_says_which_program_asks_and_nothing_of_the_machine(model_server, ask):
    model_server.add(Reply("hi"))
    ask()
    headers = model_server.requests[0].headers
    assert headers["user-agent"] == "hermes-acp"
    of_http = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    assert set(headers) - of_http == {"authorization", "user-agent"}


def test_the_key_is_sent_as_a_bearer_token(model_server, ask):
    model_server.add(Reply("hi"))
    ask()
    assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_nothing_is_sent_in_its_place(model_server, connect, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    model_server.add(Reply("hi"))
    assert text_of(ask(connect(key=None))) == "hi"
    assert "authorization" not in model_server.requests[0].headers


def test_what_the_environment_says_of_an_openai_account_is_not_sent(model_server, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-secret-admin")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: secret\nAuthorization: Bearer secret\nContent-Type: x/y")
    model_server.add(Reply("hi"))
    ask()
    headers = model_server.requests[0].headers
    assert "secret" not in str(headers)
    assert not {"openai-organization", "openai-project", "x-gateway"} & set(headers)
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("count", [-5, 3.5, float("nan"), True])
def test_a_count_that_is_no_number_of_tokens_counts_as_unknown(model_server, ask, count):
    model_server.add(Reply("hi", usage=ServerUsage(prompt=count, completion=2)))
    usage = next(event.usage for event in ask() if isinstance(event, UsageReport))
    assert (usage.input_tokens, usage.output_tokens) == (None, 2)
