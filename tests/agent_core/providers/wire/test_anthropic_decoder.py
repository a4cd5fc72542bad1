"""Reading an answer of the Messages protocol, event by event."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderProtocolError, ProviderStatusError
from agent_core.providers.anthropic_messages import MessagesDecoder
from agent_core.providers.base import (
    Finished,
    ProviderItem,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from tests.support.agents import events_of_kind
from tests.support.choices import choice_for
from tests.support.each import each

STOP = {"type": "message_stop"}


def answer(*payloads, model="claude-opus-4-6"):
    """What becomes of an answer that consists of exactly these events (JSON values, or raw bytes)."""
    decoder = MessagesDecoder(choice_for("https://model.example/v1", model=model))
    events = []
    for payload in payloads:
        assert not decoder.done
        events += decoder.feed(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    assert decoder.done
    return [*events, Finished(decoder.finished)]


def begin(index, kind, **fields):
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def delta(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index):
    return {"type": "content_block_stop", "index": index}


def ending(reason="end_turn", **fields):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **fields}


def test_hidden_and_later_thoughts_are_kept_with_their_place():
    events = answer(
        begin(0, "thinking", thinking=""),
        delta(0, "signature_delta", signature="s1"),
        stop(0),
        begin(1, "text", text="So"),
        delta(1, "text_delta", text=" be it."),
        stop(1),
        begin(2, "redacted_thinking", data="xyz"),
        stop(2),
        begin(3, "tool_use", id="a", name="f", input={}),
        stop(3),
        begin(4, "thinking", thinking="", signature="s"),
        delta(4, "thinking_delta", thinking="and"),
        delta(4, "signature_delta", signature="2"),
        stop(4),
        ending("tool_use"),
        STOP,
    )
    assert [event.item for event in events_of_kind(ProviderItem, events)] == [
        {"type": "thinking", "thinking": "", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz", "after_text": 9},
        {"type": "thinking", "thinking": "and", "signature": "s2", "after_text": 9, "after_calls": 1},
    ]


def test_a_thought_without_a_signature_is_kept_only_of_models_that_sign_none():
    thought = (begin(0, "thinking", thinking="hm"), stop(0), ending(), STOP)
    assert events_of_kind(ProviderItem, answer(*thought, model="deep-model")) == [
        ProviderItem({"type": "thinking", "thinking": "hm"})
    ]
    assert events_of_kind(ProviderItem, answer(*thought)) == []


def test_tools_of_the_server_and_unknown_blocks_and_events_are_passed_over():
    events = answer(
        {"type": "message_start", "message": {}},
        {"type": "ping"},
        {"type": "something_new", "index": 7},
        begin(0, "server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q'),
        stop(0),
        begin(1, "web_search_tool_result", content=[]),
        stop(1),
        stop(1),
        begin(2, "text", text=""),
        delta(2, "citations_delta", citation={}),
        delta(2, "text_delta", text="found"),
        ending(),
        STOP,
    )
    assert events == [TextDelta("found"), Finished("stop")]


def test_the_input_of_a_call_may_come_at_once():
    events = answer(begin(0, "tool_use", id="a", name="f", input={"x": "ü"}), stop(0), ending("tool_use"), STOP)
    assert events[:2] == [ToolCallStarted(0, "a", "f"), ToolCallArguments(0, '{"x": "ü"}')]


def test_an_input_that_comes_at_once_and_in_pieces_counts_once():
    piece = delta(0, "input_json_delta", partial_json='{"x": 1}')
    events = answer(begin(0, "tool_use", id="a", name="f", input={"x": 1}), piece, stop(0), ending("tool_use"), STOP)
    assert events_of_kind(ToolCallArguments, events) == [ToolCallArguments(0, '{"x": 1}')]


@pytest.mark.parametrize("end", [STOP, b"[DONE]"], ids=["stop", "done"])
def test_an_answer_that_does_not_say_why_it_ends_is_complete(end):
    assert answer(begin(0, "tool_use", id="a", name="f"), stop(0), end)[-1] == Finished("tool_calls")
    assert answer(begin(0, "text", text="x"), end)[-1] == Finished("stop")


COUNTS = {
    "cached and written": (
        {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 30, "output_tokens": 1},
        {"output_tokens": 25, "output_tokens_details": {"thinking_tokens": 20}},
        Usage(140, 25, 100, 20, 30),
    ),
    "all at the end": ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 9, "output_tokens": 4}, Usage(9, 4)),
    "no second count of the prompt": ({"input_tokens": 9}, {"input_tokens": 0, "output_tokens": 4}, Usage(9, 4)),
    "nothing of the prompt": (None, {"output_tokens": 4}, Usage(None, 4)),
    "no numbers": ({"input_tokens": "9"}, {"input_tokens": -1, "output_tokens": True}, Usage()),
}


@each("kind", COUNTS)
def test_usage_counts_all_of_the_prompt(kind):
    start, end, usage = COUNTS[kind]
    events = answer({"type": "message_start", "message": {"usage": start}}, ending(usage=end), STOP)
    assert events_of_kind(UsageReport, events) == [UsageReport(usage)]


def test_a_server_that_is_overloaded_within_its_answer():
    failure = {"type": "overloaded_error", "message": "Overloaded"}
    with pytest.raises(ProviderStatusError, match=r"in the middle of its answer: «Overloaded»") as caught:
        answer(begin(0, "text", text="a"), {"type": "error", "error": failure})
    assert caught.value.status is None
    assert json.loads(caught.value.body) == {"error": failure}


MALFORMED = {
    "no type": {"choices": [{"delta": {"content": "hi"}}]},
    "a delta of no block": delta(3, "text_delta", text="x"),
    "arguments of no call": delta(3, "input_json_delta", partial_json="{"),
    "a block that is none": {"type": "content_block_start", "index": 0, "content_block": "text"},
    "an index that is none": begin("first", "text"),
    "text that is none": begin(0, "text", text=5),
    "a call without a name": begin(0, "tool_use", id="a"),
    "no object": [1],
    "no JSON": b"{oops",
}


@each("kind", MALFORMED)
def test_an_answer_that_cannot_be_understood_names_the_server(kind):
    with pytest.raises(ProviderProtocolError, match=r"^custom \(https://model\.example/v1\) sent"):
        answer(MALFORMED[kind], STOP)
