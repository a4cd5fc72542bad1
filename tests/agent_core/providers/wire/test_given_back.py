"""Reasoning and seals that Chat Completions servers want back: kept by their field, sent to who gave them alone."""

from __future__ import annotations

import base64
import json

import pytest

from agent_core.providers.choice import Dialect
from tests.support.model_server import Garbage, ModelServer, Reply, Status, ToolCall
from tests.support.wire_agents import wired

CALL = ToolCall("c1", "todo", {"todos": []})
INSISTS = Dialect(reasoning_back="reasoning_content")
SIGNS = Dialect(reasoning_back="thought_signature")
PLACEHOLDER = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def answer(*deltas, finish="tool_calls"):
    """An answer of exactly these deltas."""
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    return Garbage("".join(f"data: {data}\n\n" for data in [*map(json.dumps, chunks), "[DONE]"]).encode())


def call(call_id, index=0, name="todo", arguments='{"todos": []}', **beside):
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}, **beside}


def assistants(request):
    return [message for message in request.body["messages"] if message["role"] == "assistant"]


def signed(value):
    return {"google": {"thought_signature": value}}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
@pytest.mark.quirk(
    "any that sends its reasoning beside the text",
    "wants it back with its tool calls, in the field in which it came",
    "it goes back in that field, to the same server and model alone",
)
def test_reasoning_goes_back_in_the_field_in_which_it_came(model_server, over, field):
    model_server.add(Reply("", reasoning="hm", reasoning_field=field, tool_calls=[CALL]), Reply("ok"), Reply("again"))
    agent = over(wired(model_server.base_url))
    agent.run_conversation("go")
    agent.run_conversation("and now")
    for request in model_server.requests[1:]:
        assert assistants(request)[0][field] == "hm"
        assert set(assistants(request)[0]) == {"role", "content", "tool_calls", field}


def test_a_server_that_never_sent_reasoning_is_sent_no_field_for_it(model_server, over):
    model_server.add(Reply("", tool_calls=[CALL]), Reply("ok"))
    over(wired(model_server.base_url)).run_conversation("go")
    assert set(assistants(model_server.requests[1])[0]) == {"role", "content", "tool_calls"}
    assert set(assistants(model_server.requests[1])[0]["tool_calls"][0]) == {"id", "type", "function"}


def test_reasoning_never_goes_to_another_model_or_another_server(model_server, over):
    limit = Status(401, {"error": {"message": "Incorrect API key provided"}})
    with ModelServer(Reply("ok")) as other:
        model_server.add(Reply("", reasoning="hm", tool_calls=[CALL]), limit)
        over(wired(model_server.base_url), wired(other.base_url)).run_conversation("go")
        assert set(assistants(other.requests[0])[0]) == {"role", "content", "tool_calls"}


@pytest.mark.quirk(
    "DeepSeek, Kimi, GLM and MiMo, wherever they are hosted",
    "refuse tool calls without reasoning, also those that another model made",
    "where nothing was given, a blank goes in its place",
)
def test_models_that_insist_on_reasoning_get_a_placeholder_where_none_was_given(model_server, over):
    limit = Status(401, {"error": {"message": "Incorrect API key provided"}})
    with ModelServer(Reply("", reasoning="mine", tool_calls=[CALL]), Reply("ok")) as kimi:
        model_server.add(Reply("", reasoning="of another", tool_calls=[CALL]), limit)
        behind = wired(kimi.base_url, model="kimi-k2.6", dialect=INSISTS)
        over(wired(model_server.base_url), behind).run_conversation("go")
        sent = [[message["reasoning_content"] for message in assistants(request)] for request in kimi.requests]
    assert sent == [[" "], [" ", "mine"]]


FRAGMENTS = {
    "texts with their index": (
        [
            {"type": "reasoning.text", "text": "one ", "index": 0, "format": "f"},
            {"type": "reasoning.text", "text": "one ", "index": 0, "format": "f"},
            {"type": "reasoning.text", "text": "two", "index": 0, "format": "f", "signature": None},
            {"type": "reasoning.text", "index": 0, "signature": "S"},
            {"type": "reasoning.summary", "summary": "in ", "index": 1},
            {"type": "reasoning.summary", "summary": "short", "index": 1},
            {"type": "reasoning.encrypted", "data": "xx", "index": 1, "id": "r1"},
        ],
        [
            {"type": "reasoning.text", "text": "one one two", "index": 0, "format": "f", "signature": "S"},
            {"type": "reasoning.summary", "summary": "in short", "index": 1},
            {"type": "reasoning.encrypted", "data": "xx", "index": 1, "id": "r1"},
        ],
    ),
    "texts without an index": (
        [
            {"type": "reasoning.text", "text": "a"},
            {"type": "reasoning.text", "text": "b", "signature": "S"},
            {"type": "reasoning.text", "text": "c"},
            {"type": "reasoning.encrypted", "data": "x"},
            {"type": "reasoning.text", "text": "d"},
        ],
        [
            {"type": "reasoning.text", "text": "ab", "signature": "S"},
            {"type": "reasoning.text", "text": "c"},
            {"type": "reasoning.encrypted", "data": "x"},
            {"type": "reasoning.text", "text": "d"},
        ],
    ),
    "texts whose pieces alternate": (
        [{"type": "reasoning.text", "text": text, "index": index} for text, index in [("a", 0), ("x", 1), ("b", 0)]],
        [{"type": "reasoning.text", "text": "ab", "index": 0}, {"type": "reasoning.text", "text": "x", "index": 1}],
    ),
}


@pytest.mark.parametrize(("pieces", "whole"), FRAGMENTS.values(), ids=FRAGMENTS)
@pytest.mark.quirk(
    "OpenRouter",
    "sends `reasoning_details` in pieces, and wants them back whole",
    "pieces with one index and type are joined, and go back in place of the text",
)
def test_reasoning_details_go_back_whole(model_server, over, pieces, whole):
    deltas = [{"reasoning": piece.get("text") or "", "reasoning_details": [piece]} for piece in pieces]
    model_server.add(answer(*deltas, {"tool_calls": [call("c1")]}), Reply("ok"))
    over(wired(model_server.base_url)).run_conversation("go")
    sent = assistants(model_server.requests[1])[0]
    assert sent["reasoning_details"] == whole
    assert "reasoning" not in sent


def test_claudes_blocks_behind_litellm_go_back_whole_with_their_signature(model_server, over):
    blocks = [{"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b"}]
    end = {"type": "thinking", "thinking": "", "signature": "S"}
    deltas = [{"reasoning_content": block["thinking"], "thinking_blocks": [block]} for block in (*blocks, end)]
    model_server.add(answer(*deltas, {"tool_calls": [call("c1")]}), Reply("ok"))
    over(wired(model_server.base_url)).run_conversation("go")
    sent = assistants(model_server.requests[1])[0]
    assert sent["thinking_blocks"] == [{"type": "thinking", "thinking": "ab", "signature": "S"}]


def test_what_copilot_seals_goes_back_beside_the_text(model_server, over):
    model_server.add(
        answer({"reasoning_text": "hm"}, {"reasoning_opaque": "XX"}, {"tool_calls": [call("c1")]}), Reply("ok")
    )
    over(wired(model_server.base_url)).run_conversation("go")
    sent = assistants(model_server.requests[1])[0]
    assert (sent["reasoning_text"], sent["reasoning_opaque"]) == ("hm", "XX")


SIGNED = {
    "all under one index": [
        {"tool_calls": [call("a", extra_content=signed("A"))]},
        {"tool_calls": [call("b")]},
        {"tool_calls": [call("c", extra_content=signed("C"))]},
    ],
    "all in one delta": [
        {
            "tool_calls": [
                call("a", extra_content=signed("A")),
                call("b"),
                call("c", extra_content=signed("C")),
            ]
        }
    ],
    "not in the order of their indexes": [
        {"tool_calls": [call("c", 2, extra_content=signed("C"))]},
        {"tool_calls": [call("a", 0), call("b", 1)]},
        {"tool_calls": [{"index": 0, "extra_content": signed("A")}]},
    ],
    "before its call": [
        {"tool_calls": [{"index": 2, "extra_content": signed("C")}]},
        {"tool_calls": [call("a", 0, extra_content=signed("A"))]},
        {"tool_calls": [call("b", 1), call("c", 2)]},
    ],
}


@pytest.mark.parametrize("deltas", SIGNED.values(), ids=SIGNED)
@pytest.mark.quirk(
    "Gemini, also behind a gateway",
    "signs its calls, and wants each signature back with its call",
    "a signature is kept with the call that it came with, whatever the order",
)
def test_signatures_go_back_with_their_own_calls(model_server, over, deltas):
    model_server.add(answer(*deltas), Reply("ok"))
    over(wired(model_server.base_url)).run_conversation("go")
    sent = assistants(model_server.requests[1])[0]["tool_calls"]
    assert {each["id"]: each.get("extra_content") for each in sent} == {"a": signed("A"), "b": None, "c": signed("C")}


@pytest.mark.quirk(
    "Gemini 3 and later, also behind a gateway",
    "refuses calls without a signature, also those that another model made",
    "the first of such calls gets the placeholder that Google documents",
)
def test_calls_of_another_model_go_to_gemini_with_googles_placeholder(model_server, over):
    limit = Status(401, {"error": {"message": "Incorrect API key provided"}})
    mine = answer({"tool_calls": [call("g", extra_content=signed("G"))]})
    with ModelServer(mine, Reply("ok")) as gemini:
        model_server.add(Reply("", tool_calls=[CALL, ToolCall("c2", "todo", {"todos": []})]), limit)
        over(
            wired(model_server.base_url), wired(gemini.base_url, model="gemini-3-pro", dialect=SIGNS)
        ).run_conversation("go")
        first, second = gemini.requests
    assert [each.get("extra_content") for each in assistants(first)[0]["tool_calls"]] == [PLACEHOLDER, None]
    assert [message["tool_calls"][0]["extra_content"] for message in assistants(second)] == [PLACEHOLDER, signed("G")]


IN_ID = f"call_0123456789__thought__{base64.urlsafe_b64encode(b'sig+/=').decode()}"
LITELLM = {
    "beside the call": call("c1", provider_specific_fields={"thought_signature": "sig+/="}),
    "within the function": {
        "index": 0,
        "id": "c1",
        "function": {
            "name": "todo",
            "arguments": "{}",
            "provider_specific_fields": {"thought_signature": "sig+/="},
        },
    },
    "in the id alone": call(IN_ID),
}


@pytest.mark.parametrize("made", LITELLM.values(), ids=LITELLM)
@pytest.mark.quirk(
    "LiteLLM", "hides Gemini's signature in the id of a call", "it goes back in `provider_specific_fields`"
)
def test_a_signature_that_litellm_gave_goes_back_to_it(model_server, over, made):
    model_server.add(answer({"tool_calls": [made]}), Reply("ok"))
    over(wired(model_server.base_url)).run_conversation("go")
    sent = assistants(model_server.requests[1])[0]["tool_calls"][0]
    assert sent["provider_specific_fields"] == {"thought_signature": "sig+/="}
