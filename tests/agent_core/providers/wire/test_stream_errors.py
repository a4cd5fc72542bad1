"""Failures that servers report with a good status: their words and their class are kept, in each wire protocol."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderProtocolError, ProviderStatusError
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest, TextDelta
from agent_core.providers.errors import classify
from tests.agent_core.providers.conftest import KEY
from tests.support.bedrock_server import Stream
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.model_anthropic import sse
from tests.support.model_replies import Garbage, event
from tests.support.wire_agents import PROTOCOLS, wired

SAID = {
    "chat_completions": event({"choices": [{"delta": {"content": "so far"}}]}),
    "anthropic_messages": sse("content_block_start", index=0, content_block={"type": "text", "text": "so far"}),
    "codex_responses": event({"type": "response.output_text.delta", "output_index": 0, "delta": "so far"}),
}

# What is sent, the class, and words that are kept. A text is the body as it is, an object the data of an event.
FAILURES = {
    "FastAPI's detail": ({"detail": "Rate limit exceeded"}, "rate_limit", "Rate limit exceeded"),
    "details of a list": ({"detail": [{"loc": ["body"], "msg": "too many requests"}]}, "rate_limit", "too many"),
    "vLLM": ({"object": "error", "message": "Input is too long for requested model.", "type": "BadRequestError",
              "code": 400}, "context_overflow", "Input is too long"),
    "a bare failure": ({"message": "Service is overloaded", "code": 50505, "data": None}, "overloaded", "Service"),
    "MiniMax": ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "billing", "balance"),
    "a chunk of MiniMax's": ({"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
                             "rate_limit", "rate limit"),
    "a problem": ({"type": "about:blank", "title": "Too Many Requests", "status": 429}, "rate_limit", "Too Many"),
    "a truth": ({"error": True, "message": "no such model: x", "code": 404}, "model_not_found", "no such model"),
    "a text with its kind": ({"error": "Model is busy", "error_type": "overloaded_error"}, "overloaded", "busy"),
    "a text with its status": ({"error": "nope", "status_code": 401}, "auth", "nope"),
    "a code as text": ({"code": "Throttling.RateQuota", "message": "Slow down"}, "rate_limit", "Slow down"),
    "Anthropic's without its frame": ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", "Over"),
    "no success": ({"success": False, "errors": [{"code": 7009, "message": "Upstream overloaded"}]}, "overloaded",
                   "Upstream"),
    "OpenRouter": ({"id": "gen-1", "provider": "X", "error": {"code": 502, "message": "Bad gateway"},
                    "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}, "server_error", "Bad"),
    "no more than a code": ({"error": {"code": 529}}, "overloaded", "529"),
    "a status alone": ({"status": 529}, "overloaded", "529"),
    "no words at all": ({"type": "error"}, "unknown", "no reason"),
    "an event that is an error": (b'event: error\ndata: {"code": 503, "what": "x"}\n\n', "overloaded", "503"),
    "an error in words": (b"event: error\ndata: rate limit exceeded\n\n", "rate_limit", "rate limit exceeded"),
    "an error in lines": (b'event: error\ndata: {\ndata: "message": "Overloaded"\ndata: }\n\n', "overloaded", "Over"),
    "an error in silence": (b"event: error\ndata:\n\n", "unknown", "no reason given"),
    "words as data": (b"data: Too many requests\n\n", "rate_limit", "Too many requests"),
    "words in quotes": (b'data: "Too many requests"\n\n', "rate_limit", "Too many requests"),
    "words in brackets": (b"data: [ERROR] service is overloaded\n\n", "overloaded", "service is overloaded"),
    "Qwen's words": (b"data: <429> Throttling: too many requests\n\n", "rate_limit", "too many requests"),
    "a plain body": (b"upstream overloaded, try again later", "overloaded", "upstream overloaded"),
    "a plain body with a colon": (b"error: no api key\r\n", "auth", "no api key"),
    "JSON as the body": (b'{\n  "error": {\n "message": "Rate limit", "code": "x"}\n}', "rate_limit", "Rate limit"),
    "a list as the body": (b'[{"error": {"code": 429, "message": "slow"}}]', "rate_limit", "slow"),
    "JSON on lines": (b'{"error": "rate limit"}\n{"error": "again"}\n', "rate_limit", "rate limit"),
}  # fmt: skip


def sent(failure):
    return failure if isinstance(failure, bytes) else event(failure)


def failing(ask, provider):
    with pytest.raises(ProviderStatusError) as caught:
        ask(provider)
    return caught.value, classify(caught.value, choice_for("https://x.example/v1", provider="minimax"))


@pytest.mark.quirk(
    "many servers",
    "report a failure within an answer that had begun well, in a form of their own",
    "its words and its class count as those of a proper error",
)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_failure_within_a_good_answer_keeps_its_words_and_its_class(model_server, connect, ask, protocol):
    provider = connect(api_mode=protocol)

    @each("before", [b"", SAID[protocol]])
    @each("kind", FAILURES)
    def look(before, kind):
        failure, reason, words = FAILURES[kind]
        model_server.add(Garbage(before + sent(failure)))
        problem, told = failing(ask, provider)
        assert told.reason == reason
        assert words in problem.public
        assert words in told.public_message or words in {"529", "503", "no reason", "no reason given"}

    look()


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/html; charset=utf-8", ""])
def test_a_body_in_place_of_a_stream_keeps_its_words_whatever_it_is_called(model_server, connect, ask, kind):
    provider = connect()
    for body in (b"Too many requests", b'{"detail": "Too many requests"}'):
        model_server.add(Garbage(body, kind))
        problem, told = failing(ask, provider)
        assert (told.reason, "«Too many requests»" in problem.public) == ("rate_limit", True)


@each("protocol", PROTOCOLS)
def test_text_that_came_before_a_failure_is_given_first(model_server, connect, protocol):
    model_server.add(Garbage(SAID[protocol] + event({"detail": "rate limit"})))
    stream = iter(connect(api_mode=protocol).stream(ModelRequest("m", [user_message("hello")])))
    assert next(stream) == TextDelta("so far")
    with pytest.raises(ProviderStatusError, match="rate limit"):
        next(stream)


def test_a_choice_may_have_the_error(model_server, ask):
    choice = {"delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "slow"}}
    model_server.add(Garbage(event({"choices": [choice]})))
    with pytest.raises(ProviderStatusError, match="slow"):
        ask()


NO_FAILURES = [
    {"choices": [], "error": None},
    {"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}},
    {"object": "chat.completion.chunk", "message": "queued"},
    {"type": "status", "message": "waiting for a worker"},
    {"choices": [], "usage": {"prompt_tokens": 1}, "detail": "x"},
    {"model": "x", "message": {"role": "assistant", "content": "hi"}},
    {"code": 200, "status": "success"},
    {},
]


@each("beside", NO_FAILURES)
def test_what_tells_of_no_failure_does_not_end_the_answer(model_server, ask, beside):
    model_server.add(Garbage(event(beside) + SAID["chat_completions"] + event("[DONE]")))
    assert TextDelta("so far") in ask()


def test_a_page_is_no_failure_in_words(model_server, ask):
    model_server.add(Garbage(b"<!DOCTYPE html><p>rate limit</p>", "text/html"))
    with pytest.raises(ProviderProtocolError, match=r"model\.base_url"):
        ask()


def test_a_key_in_such_words_is_not_shown(model_server, ask):
    for body in (f"bad key {KEY}".encode(), f"event: error\ndata: bad key {KEY}\n\n".encode()):
        model_server.add(Garbage(body))
        with pytest.raises(ProviderStatusError, match=r"bad key \[key\]"):
            ask()


@pytest.mark.parametrize("body", [b"Too many requests", b'{"message": "Too many requests"}'])
def test_at_bedrock_a_body_in_place_of_frames_keeps_its_words_too(bedrock_server, ask_bedrock, body):
    bedrock_server.add(Stream([body], content_type="application/json"))
    with pytest.raises(ProviderStatusError, match="Too many requests") as caught:
        ask_bedrock()
    assert json.loads(caught.value.body)
    assert classify(caught.value, wired("http://x.example")).reason == "rate_limit"
