"""One model request: what is told while it runs, what is collected, and how an interrupt ends it."""

from __future__ import annotations

import threading

import pytest

from agent_core.cancel import CancelToken
from agent_core.errors import ProviderConnectionError, ProviderProtocolError, TurnInterrupted
from agent_core.model_request.response import CallIds, Collector, Reply, ask_once
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
from tests.support.agents import Ears, in_background
from tests.support.scripted_provider import Hold, ScriptedProvider, says

REQUEST = ModelRequest("test-model", [{"role": "user", "content": "hello"}])


def ask(*script, token=None, ears=None, ids=None) -> Reply:
    collector = Collector((ears or Ears()).callbacks(), ids or CallIds(set()))
    return ask_once(ScriptedProvider(script), REQUEST, token or CancelToken(), collector)


def test_text_and_reasoning_are_told_as_they_come_and_collected():
    ears = Ears()
    usage = Usage(input_tokens=7, output_tokens=3)
    reply = ask(
        ReasoningDelta("hm "), ReasoningDelta("yes"), TextDelta("Hel"), TextDelta("lo"), UsageReport(usage),
        Finished("stop"), ears=ears,
    )  # fmt: skip
    assert ears.heard == [("reasoning", "hm "), ("reasoning", "yes"), ("text", "Hel"), ("text", "lo")]
    assert (reply.text, reply.reasoning, reply.finish, reply.usage) == ("Hello", "hm yes", "stop", usage)


def test_what_was_recalled_is_kept_out_of_text_and_reasoning_and_nothing_of_either_is_lost():
    ears = Ears()
    reply = ask(
        ReasoningDelta("so <memory-con"), ReasoningDelta("text>SECRET</memory-context> a <"), TextDelta("b <memory"),
        TextDelta("-context>SECRET</memory-context> <"), Finished("stop"), ears=ears,
    )  # fmt: skip
    assert (reply.reasoning, reply.text) == ("so  a <", "b  <")
    assert "".join(ears.of("reasoning")) == reply.reasoning
    assert ears.kinds() == ["reasoning"] * 3 + ["text"] * 3


def test_interleaved_calls_come_out_whole_and_in_the_order_of_their_index():
    ears = Ears()
    reply = ask(
        ToolCallStarted(1, "b", "write_file"),
        ToolCallStarted(0, "a", "read_file"),
        ToolCallArguments(1, '{"path"'),
        ToolCallArguments(0, '{"path": "x"}'),
        ToolCallArguments(1, ': "y"}'),
        Finished("tool_calls"),
        ears=ears,
    )
    assert [(call["id"], call["function"]["arguments"]) for call in reply.tool_calls] == [
        ("a", '{"path": "x"}'),
        ("b", '{"path": "y"}'),
    ]
    assert ears.heard == [("tool_gen", ("b", "write_file")), ("tool_gen", ("a", "read_file"))]


@pytest.mark.parametrize(
    "script",
    [
        [ToolCallStarted(0, "a", "todo"), ToolCallArguments(0, "{}"), ToolCallStarted(0, "b", "todo")],
        [ToolCallStarted(0, "", "todo"), ToolCallArguments(0, "{}"), ToolCallStarted(0, "", "todo")],
        [ToolCallStarted(0, "", "todo"), ToolCallStarted(0, "", "read_file")],
    ],
    ids=["other id", "complete arguments", "other name"],
)
def test_another_call_under_the_same_index_is_a_call_of_its_own(script):
    reply = ask(*script, ToolCallArguments(0, '{"path": "x"}'), Finished("tool_calls"))
    assert [call["function"]["arguments"] for call in reply.tool_calls] == ["{}", '{"path": "x"}']
    assert len({call["id"] for call in reply.tool_calls}) == 2


def test_a_call_without_arguments_has_an_empty_object():
    reply = ask(ToolCallStarted(0, "a", "todo"), Finished("tool_calls"))
    assert reply.tool_calls[0]["function"]["arguments"] == "{}"


def test_a_name_that_is_repeated_with_each_piece_begins_one_call():
    ears = Ears()
    reply = ask(
        ToolCallStarted(0, "a", "todo"), ToolCallArguments(0, "{"), ToolCallStarted(0, "a", "todo"),
        ToolCallArguments(0, "}"), Finished("tool_calls"), ears=ears,
    )  # fmt: skip
    assert [call["function"]["arguments"] for call in reply.tool_calls] == ["{}"]
    assert ears.of("tool_gen") == [("a", "todo")]


def test_arguments_of_a_call_that_never_began_are_an_error():
    with pytest.raises(ProviderProtocolError, match="not begun"):
        ask(ToolCallArguments(0, "{}"))


@pytest.mark.parametrize(
    ("script", "finish"),
    [((TextDelta("hi"),), "stop"), ((ToolCallStarted(0, "a", "todo"),), "tool_calls")],
)
def test_a_provider_that_does_not_say_why_it_ended(script, finish):
    assert ask(*script).finish == finish


def test_call_ids_are_unique_also_against_those_used_before():
    ids = CallIds({"call_1"})
    assert [ids.unique(proposed) for proposed in ("call_1", "call_1", "x", "", "")] == [
        "call_1-2",
        "call_1-3",
        "x",
        "call",
        "call-2",
    ]


def test_a_provider_error_passes_and_the_stream_is_closed():
    provider = ScriptedProvider([TextDelta("he"), ProviderConnectionError("gone")])
    with pytest.raises(ProviderConnectionError, match="gone"):
        ask_once(provider, REQUEST, CancelToken(), Collector(Ears().callbacks(), CallIds(set())))
    assert provider.streams[0].closed.is_set()


def test_a_stream_that_ended_by_itself_is_closed_too():
    provider = ScriptedProvider(says("hi"))
    ask_once(provider, REQUEST, CancelToken(), Collector(Ears().callbacks(), CallIds(set())))
    assert provider.streams[0].closed.is_set()


@pytest.mark.parametrize("before", [(), (TextDelta("half"),)], ids=["before the first token", "in the middle"])
def test_a_cancel_closes_the_stream_and_ends_a_silent_request(before):
    hold, token = Hold(), CancelToken()
    asking = in_background(lambda: ask(*before, hold, Finished("stop"), token=token))
    assert hold.reached.wait(5)
    token.cancel()
    with pytest.raises(TurnInterrupted):
        asking.result(5)


def test_nothing_is_told_after_the_cancel():
    ears, token = Ears(), CancelToken()
    with pytest.raises(TurnInterrupted):
        ask(TextDelta("before"), token.cancel, TextDelta("after"), Finished("stop"), token=token, ears=ears)
    assert ears.of("text") == ["before"]


def test_an_answer_that_is_complete_when_the_cancel_comes_is_not_kept():
    token = CancelToken()
    with pytest.raises(TurnInterrupted):
        ask(TextDelta("all"), Finished("stop"), token.cancel, token=token)


def test_a_turn_that_is_over_does_not_reach_the_model():
    token, reached = CancelToken(), threading.Event()
    token.cancel()
    with pytest.raises(TurnInterrupted):
        ask(Hold(), reached.set, TextDelta("never"), token=token)
    assert not reached.is_set()


def test_a_cancel_after_the_answer_leaves_its_stream_alone():
    token, provider = CancelToken(), ScriptedProvider(says("hi"))
    ask_once(provider, REQUEST, token, Collector(Ears().callbacks(), CallIds(set())))
    provider.streams[0].closed.clear()
    token.cancel()
    assert not provider.streams[0].closed.is_set()
