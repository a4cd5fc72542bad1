"""Bedrock's events: what becomes of an answer, and of the failures in it."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import (
    ProviderProtocolError,
    ProviderStatusError,
)
from agent_core.providers.base import (
    Finished,
    ProviderItem,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from tests.agent_core.providers.wire.conftest import KEY
from tests.support.bedrock_server import Stream, delta, frame, framed, reply
from tests.support.model_replies import ToolCall


def test_text_arrives_with_usage_and_reason(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream(reply("Grüße!")))
    assert ask_bedrock() == [TextDelta("Grüße!"), UsageReport(Usage(10, 5)), Finished("stop")]


def test_the_prompt_is_counted_with_what_was_cached(bedrock_server, ask_bedrock):
    usage = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8, "cacheReadInputTokens": 100}
    bedrock_server.add(Stream(reply("hi", usage={**usage, "cacheWriteInputTokens": 20})))
    assert UsageReport(Usage(123, 5, cached_tokens=100, written_tokens=20)) in ask_bedrock()


def test_parallel_calls(bedrock_server, ask_bedrock):
    calls = [ToolCall("a", "read_file", {"path": "x"}), ToolCall("b", "list", "")]
    bedrock_server.add(Stream(reply("Both:", calls)))
    assert ask_bedrock() == [
        TextDelta("Both:"),
        ToolCallStarted(1, "a", "read_file"),
        ToolCallArguments(1, '{"path": "x"}'),
        ToolCallStarted(2, "b", "list"),
        UsageReport(Usage(10, 5)),
        Finished("tool_calls"),
    ]


def test_a_tool_that_the_server_runs_itself_is_no_call_of_ours(bedrock_server, ask_bedrock):
    begun = {"toolUse": {"toolUseId": "a", "name": "search", "type": "server_tool_use"}}
    start = frame("contentBlockStart", {"contentBlockIndex": 0, "start": begun})
    bedrock_server.add(Stream([start, delta(0, {"toolUse": {"input": "{}"}}), *reply("found")]))
    assert ask_bedrock()[0] == TextDelta("found")


def test_signed_reasoning_is_kept_for_the_model_that_wrote_it(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream(reply("yes", reasoning=[{"text": "h"}, {"text": "m"}, {"signature": "sig"}])))
    item = {
        "reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}},
        "after_text": 0,
        "after_calls": 0,
    }
    assert ask_bedrock()[:4] == [ReasoningDelta("h"), ReasoningDelta("m"), ProviderItem(item), TextDelta("yes")]


def test_sealed_reasoning_is_kept_as_text_and_its_place_with_it(bedrock_server, ask_bedrock):
    seal = delta(7, {"reasoningContent": {"redactedContent": "c2VhbGVk"}})
    begun, text, *rest = reply("yes")
    bedrock_server.add(Stream([begun, text, seal, frame("contentBlockStop", {"contentBlockIndex": 7}), *rest]))
    item = {"reasoningContent": {"redactedContent": "c2VhbGVk"}, "after_text": 3, "after_calls": 0}
    assert ask_bedrock()[1] == ProviderItem(item)


def test_reasoning_without_a_signature_is_shown_and_not_sent_back(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream(reply("yes", reasoning=[{"text": "hm"}])))
    assert ask_bedrock()[:2] == [ReasoningDelta("hm"), TextDelta("yes")]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("throttlingException", 429),
        ("modelStreamErrorException", 424),
        ("internalServerException", 500),
        ("validationException", 400),
        ("serviceUnavailableException", 503),
        ("modelTimeoutException", 408),
        ("ThrottlingException", 429),
        ("somethingNewException", None),
    ],
)
def test_a_failure_within_the_answer_has_a_status_and_what_was_said(bedrock_server, ask_bedrock, kind, status):
    bedrock_server.add(
        Stream([delta(0, {"text": "so far"}), frame(kind, {"message": f"slow\ndown {KEY}"}, "exception")])
    )
    with pytest.raises(ProviderStatusError, match=f"{kind}.*«slow down \\[key\\]»") as caught:
        ask_bedrock()
    assert caught.value.status == status
    assert json.loads(caught.value.body) == {"__type": kind, "message": f"slow\ndown {KEY}"}


def test_an_error_on_the_way_is_told_of_too(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream([frame("InternalFailure", b"out of order", "error")]))
    with pytest.raises(ProviderStatusError, match=r"InternalFailure.*«out of order»"):
        ask_bedrock()


@pytest.mark.parametrize("reason", ["malformed_model_output", "malformed_tool_use"])
def test_an_answer_that_bedrock_could_not_read_is_a_failure(bedrock_server, ask_bedrock, reason):
    bedrock_server.add(Stream(reply("hm", stop=reason)))
    with pytest.raises(ProviderStatusError, match=reason):
        ask_bedrock()


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ([b"data: {}\n\n" * 10], "no event"),
        ([frame("contentBlockDelta", {})[:-1] + b"?"], "no event"),
        ([framed(b"\xff\xff", b"{}")], "no event"),
        ([frame("contentBlockDelta", b"{broken")], "not JSON"),
        ([frame("contentBlockDelta", b"7")], "does not follow"),
        ([frame("contentBlockDelta", {})], "does not follow"),
        ([frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": "text"})], "does not follow"),
        ([frame("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {}}})], "does not follow"),
        ([frame("messageStop", {})], "does not follow"),
    ],
)
def test_a_stream_that_cannot_be_understood_is_a_protocol_error(bedrock_server, ask_bedrock, frames, said):
    bedrock_server.add(Stream(frames))
    with pytest.raises(ProviderProtocolError, match=said):
        ask_bedrock()


def test_events_of_a_kind_that_is_not_known_are_passed_over(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream([frame("somethingNew", {"a": 1}), *reply("hi")]))
    assert ask_bedrock()[0] == TextDelta("hi")
