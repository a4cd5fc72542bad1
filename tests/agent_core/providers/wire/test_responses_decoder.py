"""Reading answers of servers that follow the Responses API more or less."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderProtocolError, ProviderStatusError
from agent_core.providers.base import (
    ProviderItem,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.responses import ResponsesDecoder
from tests.support.choices import choice_for
from tests.support.each import each

CHOICE = choice_for("http://models.example/v1", provider="openai", model="gpt-5", api_mode="codex_responses")
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "t", "arguments": ""}
WHOLE_CALL = {**CALL, "arguments": '{"n": 1}'}


def at(kind, **fields):
    return {"type": f"response.{kind}", **fields}


def text(piece, **fields):
    return at("output_text.delta", delta=piece, **fields)


def arguments(piece, **fields):
    return at("function_call_arguments.delta", delta=piece, **fields)


def message(content, **fields):
    return {"type": "message", "role": "assistant", "content": content, **fields}


def sealed(seal="gAAA", **fields):
    return {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": seal, **fields}


def completed(**response):
    return at("completed", response={"status": "completed", **response})


def read(*payloads):
    """All events, the reason of the end, and whether nothing more is expected."""
    decoder = ResponsesDecoder(CHOICE)
    events = [
        event
        for payload in payloads
        for event in decoder.feed(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    ]
    return events, decoder.finished, decoder.done


def test_an_answer_is_read_from_its_first_piece_to_its_end():
    events, finished, done = read(
        at("created", response={"status": "in_progress", "error": None}),
        at("output_item.added", output_index=0, item=message([], id="msg_1")),
        text("Hel", output_index=0, item_id="msg_1"),
        text("lo", output_index=0, item_id="msg_1"),
        completed(
            usage={
                "input_tokens": 9,
                "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
                "output_tokens": 5,
                "output_tokens_details": {"reasoning_tokens": 3},
            }
        ),
    )
    assert events == [TextDelta("Hel"), TextDelta("lo"), UsageReport(Usage(9, 5, 4, 3, 2))]
    assert (finished, done) == ("stop", True)


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "input_tokens_details": None}])
def test_a_count_that_is_missing_is_unknown(usage):
    events, finished, _ = read(text("hi"), completed(usage=usage))
    assert events[1:] in ([], [UsageReport(Usage())])
    assert finished == "stop"


@pytest.mark.parametrize(
    ("ids", "more"),
    [
        ({"output_index": 0}, {"output_index": 1}),
        ({"item_id": "fc_1"}, {"item_id": "fc_2"}),
        ({"output_index": 0, "item_id": "new"}, {"output_index": 1, "item_id": "newer"}),
    ],
    ids=["number", "id", "number and an id that changes"],
)
def test_a_piece_finds_its_call_by_number_or_by_id(ids, more):
    other = {**CALL, "id": "fc_2", "call_id": "b"}
    index = [{"output_index": number} if "output_index" in ids else {} for number in range(2)]
    events, finished, _ = read(
        at("output_item.added", item=CALL, **index[0]),
        at("output_item.added", item=other, **index[1]),
        arguments('{"n"', **ids),
        arguments('{"m"', **more),
        arguments(": 1}", **ids),
        arguments(": 2}", **more),
        completed(),
    )
    assert events[:2] == [ToolCallStarted(0, "a", "t"), ToolCallStarted(1, "b", "t")]
    said = {0: "", 1: ""}
    for event in events[2:]:
        said[event.index] += event.text
    assert said == {0: '{"n": 1}', 1: '{"m": 2}'}
    assert finished == "tool_calls"


def test_a_piece_without_number_and_id_belongs_to_what_grows():
    events, _, _ = read(
        at("output_item.added", item=CALL),
        arguments("{}"),
        at("output_item.done", item=CALL),
        text("done"),
        completed(),
    )
    assert events == [ToolCallStarted(0, "a", "t"), ToolCallArguments(0, "{}"), TextDelta("done")]


@pytest.mark.parametrize(
    "payloads",
    [
        [at("function_call_arguments.done", output_index=0, arguments='{"n": 1}')],
        [at("output_item.done", output_index=0, item=WHOLE_CALL)],
        [
            at("function_call_arguments.done", output_index=0, arguments='{"n": 1}'),
            at("output_item.done", output_index=0, item=WHOLE_CALL),
        ],
        [
            arguments('{"n": 1}', output_index=0),
            at("function_call_arguments.done", output_index=0, arguments='{"n": 1}'),
            at("output_item.done", output_index=0, item=WHOLE_CALL),
        ],
        [at("output_item.done", output_index=0, item={**CALL, "arguments": {"n": 1}})],
    ],
    ids=["done", "item done", "both", "pieces and both", "an object"],
)
def test_arguments_are_told_once_however_they_come(payloads):
    begun = at("output_item.added", output_index=0, item=CALL)
    assert read(begun, *payloads)[0] == [ToolCallStarted(0, "a", "t"), ToolCallArguments(0, '{"n": 1}')]


def test_a_call_that_comes_only_as_a_whole_is_told():
    events, finished, _ = read(at("output_item.done", output_index=0, item=WHOLE_CALL), completed())
    assert events == [ToolCallStarted(0, "a", "t"), ToolCallArguments(0, '{"n": 1}')]
    assert finished == "tool_calls"


def test_calls_that_come_only_as_a_whole_and_without_numbers_are_told_apart():
    other = {**WHOLE_CALL, "id": "fc_2", "call_id": "b"}
    events, _, _ = read(at("output_item.done", item=WHOLE_CALL), at("output_item.done", item=other))
    assert [event for event in events if isinstance(event, ToolCallStarted)] == [
        ToolCallStarted(0, "a", "t"),
        ToolCallStarted(1, "b", "t"),
    ]


def test_a_server_that_gives_all_items_one_number_is_understood():
    events, finished, _ = read(
        at("reasoning_text.delta", output_index=0, content_index=0, delta="Hm."),
        at("output_item.done", output_index=0, item=sealed()),
        text("Look:", output_index=0),
        at("output_item.added", output_index=0, item=CALL),
        arguments("{}", output_index=0),
        at("output_item.done", output_index=0, item={**CALL, "arguments": "{}"}),
        completed(),
    )
    assert events == [
        ReasoningDelta("Hm."),
        TextDelta("Look:"),
        ToolCallStarted(0, "a", "t"),
        ToolCallArguments(0, "{}"),
        ProviderItem(sealed()),
        ProviderItem({"type": "message", "characters": 5}),
        ProviderItem({"type": "function_call"}),
    ]
    assert finished == "tool_calls"


def test_an_answer_that_comes_only_at_the_end_is_told():
    output = [message([{"type": "output_text", "text": "Hello"}]), WHOLE_CALL]
    events, finished, _ = read(completed(output=output))
    assert events == [TextDelta("Hello"), ToolCallStarted(1, "a", "t"), ToolCallArguments(1, '{"n": 1}')]
    assert finished == "tool_calls"


def test_a_message_that_comes_only_as_a_whole_is_told_once():
    parts = [{"type": "output_text", "text": "Hello"}]
    done = at("output_item.done", output_index=0, item=message(parts))
    assert read(done)[0] == [TextDelta("Hello")]
    assert read(text("Hello", output_index=0), done, completed(output=[message(parts)]))[0] == [TextDelta("Hello")]


def test_parts_of_the_reasoning_and_messages_of_an_answer_are_paragraphs():
    events, _, _ = read(
        at("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="One"),
        at("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="."),
        at("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="Two."),
        text("First.", output_index=1),
        at("reasoning_text.delta", output_index=2, content_index=0, delta="Three."),
        text("Second.", output_index=3),
    )
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == [
        "One",
        ".",
        "\n\nTwo.",
        "\n\nThree.",
    ]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["First.", "\n\nSecond."]


@pytest.mark.parametrize("field", ["summary", "content"])
def test_reasoning_that_comes_only_as_a_whole_is_told(field):
    item = {"type": "reasoning", field: [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]}
    assert read(at("output_item.done", output_index=0, item=item))[0] == [
        ReasoningDelta("One."),
        ReasoningDelta("\n\nTwo."),
    ]


def test_sealed_reasoning_is_kept_with_the_order_of_the_answer():
    events, _, _ = read(
        at("output_item.done", output_index=0, item=sealed()),
        text("I look.", output_index=1),
        at("output_item.done", output_index=1, item=message([], phase="commentary")),
        at("output_item.done", output_index=3, item=WHOLE_CALL),
        at("output_item.done", output_index=2, item=sealed("gBBB")),
        completed(),
    )
    assert [event.item for event in events if isinstance(event, ProviderItem)] == [
        sealed(),
        {"type": "message", "characters": 7, "phase": "commentary"},
        sealed("gBBB"),
        {"type": "function_call"},
    ]


@pytest.mark.parametrize(
    "item", [sealed(None), sealed(""), sealed(status="incomplete"), {"type": "reasoning", "summary": []}]
)
def test_reasoning_that_cannot_be_sent_back_is_not_kept(item):
    events, _, _ = read(at("output_item.done", output_index=0, item=item), text("hi", output_index=1), completed())
    assert events == [TextDelta("hi")]


@pytest.mark.parametrize(
    "payloads",
    [
        [at("refusal.delta", output_index=0, delta="I will not.")],
        [at("output_item.done", output_index=0, item=message([{"type": "refusal", "refusal": "I will not."}]))],
    ],
    ids=["pieces", "whole"],
)
def test_a_refusal_is_text_and_the_reason_of_the_end(payloads):
    events, finished, _ = read(*payloads, completed())
    assert events == [TextDelta("I will not.")]
    assert finished == "refusal"


@pytest.mark.parametrize(
    ("details", "reason"),
    [({"reason": "max_output_tokens"}, "length"), ({"reason": "content_filter"}, "refusal"), (None, "length")],
)
@pytest.mark.parametrize("call", [[], [at("output_item.added", output_index=0, item=CALL)]], ids=["text", "call"])
def test_an_incomplete_answer_says_why(details, reason, call):
    end = at("incomplete", response={"incomplete_details": details})
    assert read(*call, end)[1:] == (reason, True)


@each(
    ("payload", "shown"),
    [
        (at("failed", response={"error": {"code": "server_error", "message": "We broke"}}), "We broke"),
        (at("failed", response={"error": None}), "failed"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Too fast", "param": None}, "Too fast"),
        ({"type": "error", "error": {"type": "usage_limit_reached", "message": "No more"}}, "No more"),
        ({"type": "error"}, "no reason"),
        ({"error": {"message": "Overloaded"}}, "Overloaded"),
    ],
)
def test_a_failure_within_the_answer_is_told(payload, shown):
    with pytest.raises(ProviderStatusError, match=shown) as caught:
        read(text("so far"), payload)
    assert "openai (http://models.example/v1)" in str(caught.value)
    assert caught.value.status is None


def test_the_failures_code_is_kept_for_classification():
    with pytest.raises(ProviderStatusError) as caught:
        read({"type": "error", "code": "rate_limit_exceeded", "message": "Too fast", "sequence_number": 3})
    assert json.loads(caught.value.body) == {"error": {"code": "rate_limit_exceeded", "message": "Too fast"}}


@each(
    "payload",
    [
        b"{half",
        b"[1]",
        at("output_text.delta"),
        at("output_text.delta", delta={"text": "hi"}),
        at("output_item.added", output_index=0, item=None),
        at("output_item.added", output_index=0, item={"type": "function_call", "call_id": "a"}),
        at("output_item.added", output_index="one", item=CALL),
        arguments("{}", output_index=7),
        at("completed", response="done"),
    ],
)
def test_what_cannot_be_understood_is_an_error_that_names_the_server(payload):
    with pytest.raises(ProviderProtocolError, match=r"models\.example"):
        read(payload)


def test_what_is_not_known_is_passed_over():
    events, finished, _ = read(
        at("output_text.annotation.added", annotation={}),
        at("output_item.added", output_index=0, item={"type": "web_search_call", "id": "ws_1"}),
        at("output_item.done", output_index=0, item={"type": "web_search_call", "id": "ws_1"}),
        {"type": "something.new"},
        {},
        text("hi", output_index=1),
        completed(),
    )
    assert (events, finished) == ([TextDelta("hi")], "stop")


def test_a_closing_mark_without_an_end_is_no_complete_answer():
    events, finished, done = read(text("hi"), b"[DONE]")
    assert (events, finished, done) == ([TextDelta("hi")], None, True)
