"""What the user reads when a model server fails: who was asked, what came back, what to do. Never the key."""

from __future__ import annotations

import pytest

from agent_core.errors import ProviderConnectionError, ProviderError, ProviderProtocolError, ProviderStatusError
from agent_core.providers.choice import Endpoint
from agent_core.providers.transport_errors import readable
from tests.agent_core.providers.conftest import KEY
from tests.support.model_server import Garbage, Status
from tests.support.raw_server import RawServer, event_stream

HTML = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1>nginx</body></html>"


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (400, "Check the model's name"),
        (401, "check model.api_key"),
        (402, "no credit"),
        (403, "may not use this model"),
        (404, "model.base_url"),
        (413, "begin a new session"),
        (422, "Check the model's settings"),
        (429, "wait a moment"),
        (500, "again later"),
        (503, "again later"),
    ],
)
def test_an_error_status_names_provider_address_model_cause_and_next_step(model_server, connect, ask, code, step):
    model_server.add(Status(code, {"error": {"message": "the cause of it", "type": "x"}}))
    with pytest.raises(ProviderStatusError) as caught:
        ask(connect(model="some-model"))
    text = caught.value.public
    assert caught.value.status == code
    assert "the cause of it" in caught.value.body
    for part in ("custom", model_server.base_url, "some-model", str(code), "«the cause of it»", step):
        assert part in text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (HTML, None),
        ("plain words\nin lines", "«plain words in lines»"),
        ("", None),
        ({"message": "at the top"}, "«at the top»"),
        ({"detail": "as others say it"}, "«as others say it»"),
        ({"error": "only a text"}, "«only a text»"),
        ({"error": {"code": 5}}, None),
        ("[1, 2]", "«[1, 2]»"),
        ("x" * 5000, "xxx…»"),
    ],
    ids=["html", "text", "nothing", "message", "detail", "string", "no message", "a list", "long"],
)
def test_the_cause_is_read_from_every_kind_of_body(model_server, ask, body, said):
    model_server.add(Status(500, body))
    with pytest.raises(ProviderStatusError) as caught:
        ask()
    text = caught.value.public
    assert said in text if said else "«" not in text
    assert "<" not in text
    assert len(text) < 600
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Status(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}),
        Status(401, f"key {KEY} is wrong"),
        Garbage(f'data: {{"error": {{"message": "bad key {KEY}"}}}}\n\n'.encode()),
        Garbage(f'data: {{"error": "bad key {KEY}"}}\n\n'.encode()),
        Garbage(f"data: not JSON {KEY}\n\n".encode()),
        Garbage(f"<html>{KEY}</html>".encode(), "text/html"),
    ],
    ids=["status", "text", "in-band", "in-band text", "garbage", "html"],
)
def test_the_key_is_never_in_a_message(model_server, ask, answer):
    model_server.add(answer)
    with pytest.raises(ProviderError) as caught:
        ask()
    assert KEY not in caught.value.public
    assert KEY not in repr(caught.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"data: {broken\n\n", "not JSON"),
        (b"data: \xff\xfe\n\n", "not JSON"),
        (b"data: 7\n\n", "not an object"),
        (b'data: {"choices": [null]}\n\n', "does not follow"),
        (b'data: {"choices": {"0": {}}}\n\n', "does not follow"),
        (b'data: {"choices": [{"delta": "text"}]}\n\n', "does not follow"),
        (b'data: {"choices": [{"delta": {"tool_calls": [7]}}]}\n\n', "does not follow"),
    ],
)
def test_a_stream_that_cannot_be_understood_is_a_protocol_error(model_server, ask, body, said):
    model_server.add(Garbage(body))
    with pytest.raises(ProviderProtocolError, match=said) as caught:
        ask()
    assert model_server.base_url in caught.value.public


@pytest.mark.parametrize(
    ("body", "kind"), [(HTML.encode(), "text/html"), (b'{"choices": []}', "application/json"), (b"", "text/plain")]
)
def test_an_answer_that_is_no_stream_points_at_the_address(model_server, ask, body, kind):
    model_server.add(Garbage(body, kind))
    with pytest.raises(ProviderProtocolError, match=r"model\.base_url") as caught:
        ask()
    assert kind in caught.value.public


def test_an_answer_that_ends_without_an_end_has_broken_off(model_server, ask):
    model_server.add(Garbage(b'data: {"choices": [{"delta": {"content": "partial"}}]}\n\n'))
    with pytest.raises(ProviderConnectionError, match="broke off") as caught:
        ask()
    assert model_server.base_url in caught.value.public


def test_a_cut_after_the_end_of_the_answer_is_no_failure(ask, connect):
    answer = event_stream({"choices": [{"delta": {"content": "all"}}]}, b"data: [DONE]\n\n", ended=False)
    # A chunk's size that is no number: the connection cannot be read any further.
    with RawServer(answer + b"zzz\r\n") as server:
        assert [type(event).__name__ for event in ask(connect(f"{server.origin}/v1"))] == ["TextDelta", "Finished"]


def test_a_server_that_is_not_there(connect, ask, refused_port):
    with pytest.raises(ProviderConnectionError) as caught:
        ask(connect(f"http://127.0.0.1:{refused_port}/v1"))
    for part in ("custom", f"http://127.0.0.1:{refused_port}/v1", "refused", "Check that the server runs"):
        assert part in caught.value.public


def test_a_name_that_does_not_exist_points_at_the_network_and_the_address(connect, ask):
    with pytest.raises(ProviderConnectionError, match="was not found") as caught:
        ask(connect("http://no-such-host.invalid/v1"))
    assert "no-such-host.invalid" in caught.value.public
    assert "network" in caught.value.public


def test_an_endpoint_is_shown_without_what_is_only_for_the_server():
    endpoint = Endpoint("custom", "https://user:secret@host.example:8443/v1?api_key=secret")
    assert str(endpoint) == "custom (https://host.example:8443/v1)"
    assert endpoint.host == "host.example"


def test_what_a_server_said_is_one_short_line_without_the_key():
    assert readable(f" two\n words {KEY}\t", KEY) == "two words [key]"
    assert len(readable("x" * 1000, None)) == 301
