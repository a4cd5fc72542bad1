"""What holds over HTTP whichever protocol is spoken: one contract for all of them."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderProtocolError, ProviderStatusError
from agent_core.messages import user_message
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
from agent_core.providers.choice import Dialect
from tests.agent_core.providers.conftest import KEY
from tests.support.agents import events_of_kind, in_background
from tests.support.each import each
from tests.support.model_server import Disconnect, Garbage, Gate, Hang, ModelServer, Reply, Status, ToolCall
from tests.support.model_server import Usage as ServerUsage

QUESTION = ModelRequest("test-model", [user_message("hello")])
HIDDEN = {
    "OPENAI_API_KEY": "secret",
    "OPENAI_ORG_ID": "secret",
    "OPENAI_PROJECT_ID": "secret",
    "OPENAI_ADMIN_KEY": "secret",
    "OPENAI_CUSTOM_HEADERS": "X-Gateway: secret\nAuthorization: Bearer secret\nContent-Type: x/secret",
    "ANTHROPIC_API_KEY": "secret",
    "ANTHROPIC_AUTH_TOKEN": "secret",
    "ANTHROPIC_BASE_URL": "http://secret.example",
    "ANTHROPIC_IDENTITY_TOKEN": "secret",
    "ANTHROPIC_FEDERATION_RULE_ID": "secret",
    "ANTHROPIC_ORGANIZATION_ID": "secret",
    "ANTHROPIC_WORKSPACE_ID": "secret",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: secret\nX-Api-Key: secret\nanthropic-beta: secret\nno header",
}
FAILURE = {
    "chat_completions": {"error": {"type": "overloaded_error", "message": f"broke {KEY}"}},
    "anthropic_messages": {"type": "error", "error": {"type": "overloaded_error", "message": f"broke {KEY}"}},
    "codex_responses": {"type": "response.failed", "response": {"error": {"code": "e", "message": f"broke {KEY}"}}},
}


@pytest.fixture(params=["chat_completions", "anthropic_messages", "codex_responses"])
def api_mode(request):
    return request.param


@pytest.fixture
def server(connect, api_mode):
    """A provider that speaks the protocol; options are fields of the choice."""
    return lambda *address, **options: connect(*address, api_mode=api_mode, **options)


def text_of(events):
    return "".join(event.text for event in events_of_kind(TextDelta, events))


def test_text_arrives_whole_and_ends_with_usage_and_reason(model_server, ask, server, api_mode):
    model_server.add(Reply("Grüße!", split=3, usage=ServerUsage(11, 7, 5, 3)))
    written = None if api_mode == "chat_completions" else 0
    assert ask(server()) == [TextDelta("Grüße!"), UsageReport(Usage(11, 7, 5, 3, written)), Finished("stop")]


def test_pieces_are_there_before_the_answer_is_complete(model_server, server):
    gate = Gate()
    model_server.add(Reply("one two", split=4, gate=gate, gate_after=1))
    stream = iter(server().stream(QUESTION))
    assert next(stream) == TextDelta("one ")
    assert not gate.is_set()
    gate.set()
    assert next(stream) == TextDelta("two")
    assert list(stream)[-1] == Finished("stop")


def test_parallel_calls_with_their_arguments_in_pieces(model_server, ask, server):
    calls = [ToolCall("a", "read_file", {"path": "x.py"}), ToolCall("b", "read_file", {"path": "y.py"})]
    model_server.add(Reply("Both:", tool_calls=calls, split=4))
    events = ask(server())
    begun, pieces = events_of_kind(ToolCallStarted, events), events_of_kind(ToolCallArguments, events)
    assert [(call.id, call.name) for call in begun] == [("a", "read_file"), ("b", "read_file")]
    for call, asked in zip(begun, calls, strict=True):
        said = "".join(piece.text for piece in pieces if piece.index == call.index)
        assert json.loads(said) == asked.arguments
    assert text_of(events) == "Both:"
    assert events[-1] == Finished("tool_calls")


def test_reasoning_is_told_before_the_text(model_server, ask, server):
    model_server.add(Reply("Four.", reasoning="Two.\n\nAnd two."))
    told = [event for event in ask(server()) if isinstance(event, ReasoningDelta | TextDelta)]
    assert told == [ReasoningDelta("Two.\n\nAnd two."), TextDelta("Four.")]


@each(("sent", "meant"), [("stop", "stop"), ("length", "length"), ("content_filter", "refusal")])
def test_why_the_answer_ended(model_server, ask, server, sent, meant):
    model_server.add(Reply("so far", finish_reason=sent))
    assert ask(server())[-1] == Finished(meant)


def test_two_requests_use_one_connection(model_server, server, ask):
    model_server.add(Reply("one"), Reply("two"))
    provider = server()
    assert [text_of(ask(provider)), text_of(ask(provider))] == ["one", "two"]
    assert len({request.connection for request in model_server.requests}) == 1


def test_closing_a_finished_answer_does_not_end_the_next_one_on_its_connection(model_server, server):
    gate = Gate()
    model_server.add(Reply("one"), Reply("two", gate=gate))
    provider = server()
    finished = provider.stream(QUESTION)
    list(finished)
    running = in_background(lambda: list(provider.stream(QUESTION)))
    assert gate.reached.wait(5)
    finished.close()
    gate.set()
    assert text_of(running.result(5)) == "two"
    assert len({asked.connection for asked in model_server.requests}) == 1


def test_two_providers_at_once_do_not_mix(server, ask, model_server):
    gates = [Gate(), Gate()]
    with ModelServer(Reply("from the other", gate=gates[1])) as other:
        model_server.add(Reply("from the one", gate=gates[0]))
        running = [in_background(lambda p=p: ask(p)) for p in (server(), server(other.base_url, "sk-other"))]
        for gate in gates:
            assert gate.reached.wait(5)
            gate.set()
        assert [text_of(answer.result(5)) for answer in running] == ["from the one", "from the other"]
        assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert other.requests[0].headers["authorization"] == "Bearer sk-other"


@pytest.mark.parametrize("silence", [Hang(before_headers=True), Hang(Reply("one two", split=4), after=1)])
def test_close_from_another_thread_ends_a_request_that_waits(model_server, server, silence):
    model_server.add(silence, Reply("fine"))
    provider = server()
    stream = provider.stream(QUESTION)
    running = in_background(lambda: list(stream))
    request = model_server.wait_for_request()
    stream.close()
    with pytest.raises(ProviderError):
        running.result(5)
    assert request.disconnected.wait(5)
    assert TextDelta("fine") in list(provider.stream(QUESTION))


def test_an_error_status_is_told_with_what_the_server_said_and_asked_once(model_server, ask, server):
    failure = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    model_server.add(Status(429, failure, headers={"Retry-After": "7"}), Reply("second try"))
    with pytest.raises(ProviderStatusError, match=r"answered 429 for model .*«slow down»") as caught:
        ask(server())
    assert (caught.value.status, caught.value.headers["retry-after"]) == (429, "7")
    assert json.loads(caught.value.body) == failure
    assert len(model_server.requests) == 1


def test_a_failure_within_the_answer_names_the_server_and_hides_the_key(model_server, ask, server, api_mode):
    model_server.add(Garbage(f"data: {json.dumps(FAILURE[api_mode])}\n\n".encode()))
    with pytest.raises(ProviderStatusError, match=r"broke \[key\]") as caught:
        ask(server())
    assert caught.value.status is None
    assert model_server.base_url in str(caught.value)
    assert KEY not in str(caught.value)


def test_an_answer_that_breaks_off_is_no_complete_one(model_server, ask, server):
    model_server.add(Disconnect(Reply("one two", split=4), after=1))
    with pytest.raises(ProviderConnectionError) as caught:
        ask(server())
    assert caught.value.fault == "cut"


@pytest.mark.parametrize("rubbish", [Garbage(), Garbage(b"data: {}", "text/html")])
def test_rubbish_in_the_answer_is_no_complete_one_either(model_server, ask, server, rubbish):
    model_server.add(rubbish)
    with pytest.raises((ProviderProtocolError, ProviderConnectionError), match=model_server.base_url):
        ask(server())


def test_a_redirect_is_not_followed_with_the_key(model_server, ask, server):
    with ModelServer(default=Reply("stolen")) as elsewhere:
        model_server.add(Status(307, headers={"Location": f"{elsewhere.base_url}/messages"}))
        with pytest.raises(ProviderStatusError, match="307"):
            ask(server())
        assert elsewhere.requests == []


@each(
    ("auth", "name", "value"),
    [("x-api-key", "x-api-key", KEY), ("bearer", "authorization", f"Bearer {KEY}"), ("api-key", "api-key", KEY)],
)
def test_the_key_is_in_the_servers_header_and_in_no_other(model_server, ask, server, auth, name, value):
    model_server.add(Reply("hi"))
    ask(server(dialect=Dialect(auth=auth)))
    headers = model_server.requests[-1].headers
    assert [header for header in headers if KEY in headers[header]] == [name]
    assert headers[name] == value


def test_headers_of_the_settings_are_sent_and_win(model_server, ask, server):
    model_server.add(Reply("hi"))
    ask(server(headers=(("X-Title", "test"), ("authorization", "Own x"))))
    headers = model_server.requests[0].headers
    assert (headers["x-title"], headers["authorization"]) == ("test", "Own x")


@pytest.mark.parametrize("key", [KEY, None])
def test_a_request_says_which_program_asks_and_nothing_of_the_machine_or_its_accounts(
    model_server, ask, server, monkeypatch, key
):
    for name, value in HIDDEN.items():
        monkeypatch.setenv(name, value)
    model_server.add(Reply("hi"))
    ask(server(key=key))
    headers = model_server.requests[0].headers
    assert (headers["user-agent"], headers["content-type"]) == ("hermes-acp", "application/json")
    assert headers.get("authorization") == (key and f"Bearer {key}")
    of_http = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
    assert set(headers) - of_http - {"authorization", "anthropic-version"} == {"user-agent"}
    assert "secret" not in str(headers)


def test_text_that_is_not_valid_unicode_can_be_sent(model_server, ask, server):
    model_server.add(Reply("hi"))
    ask(server(), [user_message("half a pair: \ud83d, ünïcode: 語")])
    assert "ünïcode: 語" in json.dumps(model_server.requests[0].body, ensure_ascii=False)
