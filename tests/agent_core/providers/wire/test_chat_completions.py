"""Chat Completions over the wire: what is sent, and what becomes of the answer."""

from __future__ import annotations

import json

import pytest

from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import (
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    UsageReport,
)
from agent_core.providers.choice import Dialect, ModelFacts
from tests.support.agents import events_of_kind
from tests.support.model_server import Garbage, Reply
from tests.support.model_server import Usage as ServerUsage
from tests.support.raw_server import RawServer, event_stream


def text_of(events):
    return "".join(event.text for event in events_of_kind(TextDelta, events))


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


@pytest.mark.parametrize("count", [-5, 3.5, float("nan"), True])
def test_a_count_that_is_no_number_of_tokens_counts_as_unknown(model_server, ask, count):
    model_server.add(Reply("hi", usage=ServerUsage(prompt=count, completion=2)))
    usage = next(event.usage for event in ask() if isinstance(event, UsageReport))
    assert (usage.input_tokens, usage.output_tokens) == (None, 2)
