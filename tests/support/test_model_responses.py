"""The fake server's Responses dialect, as the real SDK sees it."""

from __future__ import annotations

import pytest

from tests.support.model_server import Reply, ToolCall, Usage

FULL = Reply(
    "Both:",
    reasoning="First.\n\nThen.",
    sealed_reasoning="gAAA",
    tool_calls=[ToolCall("call_a", "read_file", {"path": "a.py"}), ToolCall("call_b", "read_file", {"path": "b.py"})],
    split=3,
    usage=Usage(20, 9, 8, 4),
)


@pytest.fixture
def client(model_server):
    import openai  # noqa: PLC0415 - a second, which only who runs these tests should wait

    with openai.OpenAI(base_url=model_server.base_url, api_key="test-key", max_retries=0, timeout=10) as client:
        yield client


def test_the_sdk_puts_the_streamed_pieces_together_to_the_complete_answer(model_server, client):
    model_server.add(FULL)
    with client.responses.stream(model="test-model", input="hello") as stream:
        events = list(stream)
        whole = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events][:3] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
    ]
    assert events[-1].type == "response.completed"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Both:"
    thoughts = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert "".join(thoughts) == "First.Then."
    calls = [item for item in whole.output if item.type == "function_call"]
    assert [(call.call_id, call.arguments) for call in calls] == [
        ("call_a", '{"path": "a.py"}'),
        ("call_b", '{"path": "b.py"}'),
    ]
    assert whole.usage.output_tokens_details.reasoning_tokens == 4


def test_the_arguments_of_parallel_calls_come_by_turns(model_server, client):
    model_server.add(FULL)
    kind = "response.function_call_arguments.delta"
    with client.responses.stream(model="test-model", input="hello") as stream:
        indexes = [event.output_index for event in stream if event.type == kind]
    assert indexes[:6] == [2, 3, 2, 3, 2, 3]


def test_the_seal_is_complete_only_with_the_complete_item(model_server, client):
    model_server.add(FULL)
    with client.responses.stream(model="test-model", input="hello") as stream:
        items = [event.item for event in stream if event.type.startswith("response.output_item")]
    assert [item.encrypted_content for item in items if item.type == "reasoning"] == ["unfinished", "gAAA"]


def test_a_request_without_streaming_gets_the_whole_answer(model_server, client):
    model_server.add(FULL)
    answer = client.responses.create(model="test-model", input="hello")
    assert answer.output_text == "Both:"
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call", "function_call"]


@pytest.mark.parametrize(
    ("ending", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_that_was_cut_says_why(model_server, client, ending, reason):
    model_server.add(Reply("cut", finish_reason=ending), Reply("cut", finish_reason=ending))
    with client.responses.stream(model="test-model", input="hello") as stream:
        assert [event.type for event in stream][-1] == "response.incomplete"
    answer = client.responses.create(model="test-model", input="hello")
    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", reason)
