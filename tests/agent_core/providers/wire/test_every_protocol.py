"""What holds over HTTP whichever protocol is spoken: one contract for all of them."""

from __future__ import annotations

import json

import pytest

from agent_core.errors import ProviderConnectionError, ProviderProtocolError
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
from tests.support.model_server import Garbage, Gate, ModelServer, Reply, ToolCall
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


def test_a_server_that_does_not_count_tokens(model_server, ask, server):
    model_server.add(Reply("hi", usage=None))
    assert ask(server()) == [TextDelta("hi"), Finished("stop")]


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


@pytest.mark.parametrize("rubbish", [Garbage(), Garbage(b"data: {}", "text/html")])
def test_rubbish_in_the_answer_is_no_complete_one_either(model_server, ask, server, rubbish):
    model_server.add(rubbish)
    with pytest.raises((ProviderProtocolError, ProviderConnectionError), match=model_server.base_url):
        ask(server())


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
    model_server, ask, server, api_mode, monkeypatch, key
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
    assert headers.get("anthropic-version") == ("2023-06-01" if api_mode == "anthropic_messages" else None)
    assert "secret" not in str(headers)
