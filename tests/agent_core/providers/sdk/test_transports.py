"""Our own HTTP and the vendors' SDKs, held to the same: what is read, what fails and how, what ends a request."""

from __future__ import annotations

import pytest

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderStatusError, TurnInterrupted
from agent_core.messages import user_message
from agent_core.providers import bedrock, http_provider
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    UsageReport,
)
from agent_core.providers.errors import classify
from agent_core.providers.lessons import Lessons
from tests.agent_core.providers.sdk.conftest import BEDROCK, CLOUDS, MODEL, WAYS
from tests.support.agents import in_background
from tests.support.model_server import Disconnect, Garbage, Hang, ModelServer, Reply, Status, ToolCall, Usage
from tests.support.waiting import wait_until

REQUEST = ModelRequest(MODEL, [user_message("hello")])
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
EVERY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
OF_EVENTS = pytest.mark.parametrize("way", [way for way in WAYS if way is not BEDROCK], ids=lambda way: way.name)
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
SILENCES = {
    "before the headers": Hang(before_headers=True),
    "in the text": Hang(Reply("some text", split=1), after=4),
}


def only(events, *kinds):
    return [event for event in events if isinstance(event, kinds)]


@EVERY
def test_text_arrives_whole_with_its_count_of_tokens_and_its_end(model_server, ask, way):
    model_server.add(Reply("Grüße, 世界", split=3, usage=Usage(prompt=12, completion=7, cached=4)))
    events = ask(way)
    assert "".join(event.text for event in only(events, TextDelta)) == "Grüße, 世界"
    counted = only(events, UsageReport)[-1].usage
    assert (counted.input_tokens, counted.output_tokens, counted.cached_tokens) == (12, 7, 4)
    assert events[-1] == Finished("stop")
    assert len(model_server.requests) == 1


@EVERY
def test_reasoning_and_calls_of_tools_arrive(model_server, ask, way):
    calls = [ToolCall("call_1", "look", {"at": "a"}), ToolCall("call_2", "look", {"at": "b"})]
    model_server.add(Reply(reasoning="Let me see.", tool_calls=calls))
    events = ask(way, tools=[TOOL], reasoning="high")
    assert "".join(event.text for event in only(events, ReasoningDelta)) == "Let me see."
    started = only(events, ToolCallStarted)
    assert [(call.id, call.name) for call in started] == [("call_1", "look"), ("call_2", "look")]
    arguments = dict.fromkeys((call.index for call in started), "")
    for part in only(events, ToolCallArguments):
        arguments[part.index] += part.text
    assert list(arguments.values()) == ['{"at": "a"}', '{"at": "b"}']
    assert events[-1] == Finished("tool_calls")


@EVERY
def test_what_is_asked_reaches_the_server_as_it_is(model_server, ask, way):
    model_server.add(Reply("fine"))
    ask(way, messages=[{"role": "user", "content": "Grüße \ud83d 世界"}], tools=[TOOL], max_tokens=77)
    request = model_server.requests[0]
    assert request.headers["content-type"] == "application/json"
    assert "Grüße ? 世界" in str(request.body)
    assert "look" in str(request.body["tools"])
    assert 77 in {request.body.get(name) for name in LIMITS}


@EVERY
@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (401, {"error": {"message": "no such key", "type": "authentication_error"}}, "auth"),
        (404, {"error": {"message": "no such model", "type": "not_found_error"}}, "model_not_found"),
        (429, {"error": {"message": "slow down", "type": "rate_limit_error"}}, "rate_limit"),
        (503, "the server is busy", "overloaded"),
    ],
)
def test_an_error_status_keeps_its_body_and_its_class_and_nothing_is_tried_again(
    model_server, connect, ask, way, status, body, reason
):
    model_server.add(Status(status, body, {"Retry-After": "7", "X-Request-Id": "req-1"}))
    provider = connect(way)
    with pytest.raises(ProviderStatusError, match=str(status)) as caught:
        ask(provider)
    said = body if isinstance(body, str) else body["error"]["message"]
    assert said in caught.value.body
    assert said in caught.value.public
    assert caught.value.headers["x-request-id"] == "req-1"
    assert classify(caught.value, provider.choice).reason == reason
    assert len(model_server.requests) == 1


@EVERY
def test_the_body_of_an_error_is_read_up_to_a_bound(model_server, ask, way):
    model_server.add(Status(500, "x" * 3_000_000))
    with pytest.raises(ProviderStatusError) as caught:
        ask(way)
    assert len(caught.value.body) < 2_000_000


@EVERY
def test_the_key_is_in_no_message(model_server, connect, ask, way):
    provider = connect(way)
    model_server.add(Status(400, {"error": {"message": f"what is {way.secret}?"}}))
    with pytest.raises(ProviderStatusError) as caught:
        ask(provider)
    told = classify(caught.value, provider.choice)
    assert "what is" in told.public_message
    for text in (caught.value.public, repr(caught.value), told.public_message):
        assert way.secret not in text


@OF_EVENTS
@pytest.mark.parametrize(
    "said",
    [
        'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy SECRET"}}\n\n',
        "event: error\ndata: busy SECRET\n\n",
        'data: {"detail": "busy SECRET"}\n\n',
        "data: busy SECRET\n\n",
        '{"error": {"message": "busy SECRET"}}',
    ],
)
def test_a_failure_within_the_answer_keeps_what_was_said_and_hides_the_key(model_server, ask, way, said):
    model_server.add(Garbage(said.replace("SECRET", way.secret).encode()))
    with pytest.raises(ProviderStatusError, match="busy") as caught:
        ask(way)
    assert way.secret not in caught.value.public
    assert way not in CLOUDS or way.secret not in caught.value.body


@EVERY
def test_a_failure_that_is_told_instead_of_a_stream_keeps_what_was_said_and_hides_the_key(model_server, ask, way):
    model_server.add(Garbage(f'{{"error": {{"message": "busy {way.secret}"}}}}'.encode(), "application/json"))
    with pytest.raises(ProviderStatusError, match="busy") as caught:
        ask(way)
    assert way.secret not in caught.value.public
    assert way not in CLOUDS or way.secret not in caught.value.body


@EVERY
def test_what_a_refusal_taught_is_known_to_the_next_provider_too(model_server, connect, ask, way):
    too_long = "max_tokens is too large: 9000. This model supports at most 4000 completion tokens"
    model_server.add(Status(400, {"error": {"message": too_long}}), Reply("one"), Reply("two"))
    lessons = Lessons()
    for _ in range(2):
        ask(connect(way, lessons=lessons), max_tokens=9000)
    limits = [
        next(limit for name in LIMITS if (limit := request.body.get(name)) is not None)
        for request in model_server.requests
    ]
    assert limits == [9000, 4000, 4000]


@EVERY
@pytest.mark.parametrize("silence", SILENCES)
def test_closing_ends_a_blocked_read_at_once(model_server, connect, way, silence):
    model_server.add(SILENCES[silence], Reply("fine"))
    provider = connect(way)
    stream = provider.stream(REQUEST)
    running = in_background(lambda: list(stream))
    request = model_server.wait_for_request()
    stream.close()
    with pytest.raises(ProviderConnectionError):
        running.result(2)
    assert request.disconnected.wait(2)
    assert TextDelta("fine") in list(provider.stream(REQUEST))


@EVERY
def test_a_stream_that_was_closed_first_sends_nothing(model_server, connect, sign_ins, way):
    stream = connect(way).stream(REQUEST)
    stream.close()
    with pytest.raises(TurnInterrupted):
        list(stream)
    assert model_server.requests == []
    assert sign_ins.asked == []


@EVERY
def test_an_answer_that_goes_silent_is_given_up(model_server, connect, ask, way):
    model_server.add(Hang(Reply("some text", split=1), after=2))
    with pytest.raises(ProviderConnectionError, match="sent nothing") as caught:
        ask(connect(way, stall_after=0.2))
    assert caught.value.fault == "stall"


@EVERY
@pytest.mark.parametrize("before_headers", [True, False])
def test_a_connection_that_is_cut_is_told_as_such(model_server, ask, way, before_headers):
    model_server.add(Disconnect(Reply("some text", split=1), after=2, before_headers=before_headers))
    with pytest.raises(ProviderConnectionError, match="broke off") as caught:
        ask(way)
    assert caught.value.fault == "cut"
    assert len(model_server.requests) == 1


@EVERY
def test_a_server_that_is_not_there_is_told_as_such(connect, ask, refused_port, way):
    with pytest.raises(ProviderConnectionError, match="could not be reached") as caught:
        ask(connect(way, f"http://127.0.0.1:{refused_port}"))
    assert caught.value.fault == "connect"


@EVERY
def test_an_event_that_is_too_long_ends_the_answer(model_server, ask, way, monkeypatch):
    for module in (http_provider, bedrock):
        monkeypatch.setattr(module, "LONGEST_PIECE", 200_000)
    model_server.add(Reply("x" * 400_000))
    assert ask(way)[-1] == Finished("oversized")


@EVERY
def test_what_is_no_stream_is_told_as_such(model_server, ask, way):
    model_server.add(Garbage(b"<html>welcome</html>", "text/html"))
    with pytest.raises(ProviderError, match="did not answer with a stream"):
        ask(way)


@EVERY
def test_a_redirect_is_not_followed_with_the_key(model_server, ask, way):
    with ModelServer(default=Reply("stolen")) as elsewhere:
        model_server.add(Status(307, headers={"Location": f"http://127.0.0.1:{elsewhere.port}/v1/messages"}))
        with pytest.raises(ProviderStatusError, match="307"):
            ask(way)
        assert elsewhere.requests == []


@EVERY
def test_a_provider_can_be_used_again_after_it_was_closed(model_server, connect, ask, way):
    model_server.add(Reply("one"), Reply("two"))
    provider = connect(way)
    ask(provider)
    provider.close()
    assert TextDelta("two") in ask(provider)


@pytest.mark.parametrize("way", [way for way in WAYS if "sdk" in way.name], ids=lambda way: way.name)
def test_nothing_of_the_environments_accounts_goes_along(model_server, connect, ask, way, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Account: from-the-environment\nAuthorization: Bearer from-the-environment")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://from-the-environment.example")
    model_server.add(Reply("one"), Reply("two"))
    ask(connect(way, headers=(("X-Team", "blue"),)))
    ask(connect(way, api_key=None))
    with_key, without = (request.headers for request in model_server.requests)
    assert with_key["authorization"] == f"Bearer {way.secret}"
    assert with_key["x-team"] == "blue"
    assert "authorization" not in without
    assert "from-the-environment" not in f"{with_key} {without}"


@pytest.mark.parametrize("way", CLOUDS, ids=lambda way: way.name)
def test_a_cancel_ends_the_wait_for_a_sign_in(model_server, connect, sign_ins, way):
    sign_ins.gate.clear()
    stream = connect(way).stream(REQUEST)
    running = in_background(lambda: list(stream))
    wait_until(sign_ins.reached.is_set)
    stream.close()
    with pytest.raises(TurnInterrupted):
        running.result(2)
    assert model_server.requests == []
