"""Model servers on this machine, and what is none."""

import socket

import pytest

from agent_core.providers.catalog import SERVICES
from agent_core.providers.model_listing import USUAL_PORTS, FoundServer, discover_local
from tests.support.each import each
from tests.support.list_server import Fixed, ListServer, Silence, model_list

LIST = "/v1/models"


def found(*servers, named="vllm"):
    return discover_local({named: [server.port for server in servers]}, seconds=1.0)


@each(
    ("answers", "service"),
    [
        ({LIST: model_list("m", owned_by="library"), "/api/version": Fixed({"version": "0.9"})}, "ollama"),
        ({LIST: model_list("m", owned_by="vllm")}, "vllm"),
        ({LIST: model_list("m", owned_by="llamacpp")}, "llamacpp"),
        ({LIST: model_list("m"), "/props": Fixed({"default_generation_settings": {}})}, "llamacpp"),
        ({LIST: model_list("m", owned_by="organization_owner")}, "lmstudio"),
        ({LIST: model_list("m"), "/api/v0/models": Fixed({"data": []})}, "lmstudio"),
        ({LIST: model_list("m")}, "custom"),
        # It answers whatever it is asked, as some servers do.
        ({LIST: model_list("m"), "/api/version": Fixed({"error": "Unexpected endpoint"})}, "custom"),
    ],
)
@each("named", ["ollama", "vllm"])
def test_a_server_is_known_by_what_it_says_not_by_its_port(answers, service, named):
    with ListServer(answers) as server:
        assert found(server, named=named) == (FoundServer(service, f"{server.origin}/v1", ("m",)),)


def test_a_server_without_models_is_found():
    with ListServer({LIST: model_list(), "/api/version": Fixed({"version": "0.9"})}) as server:
        assert found(server) == (FoundServer("ollama", f"{server.origin}/v1", ()),)


@each(
    "answer",
    [
        pytest.param(Fixed(b"<html>A page</html>"), id="a page"),
        pytest.param(Fixed({"status": "ok"}), id="another API"),
        pytest.param(Fixed(b"[" * 100_000), id="endless nesting"),
        pytest.param(Fixed(b" " * (2 << 20)), id="too large"),
        pytest.param(Fixed({"data": [{"id": "m"}]}, 401), id="wants a key"),
        pytest.param(Fixed(b"", 302, {"Location": "/v1/models"}), id="redirects"),
        pytest.param(Fixed({"data": [{"id": "m"}]}, cut=True), id="breaks off"),
        pytest.param(Silence(), id="says nothing"),
        pytest.param(Fixed(b'{"data": [', drip=True), id="never ends"),
    ],
)
def test_what_is_no_model_server_is_not_found(answer):
    with ListServer({LIST: answer}) as server, ListServer({LIST: model_list("m", owned_by="vllm")}) as other:
        assert found(server, other) == (FoundServer("vllm", f"{other.origin}/v1", ("m",)),)


def test_entries_of_any_form_do_no_harm():
    odd = [{"id": "m", "owned_by": ["vllm"]}, {"id": "n", "owned_by": {}}, 7, None]
    with ListServer({LIST: Fixed({"data": odd})}) as server:
        assert found(server) == (FoundServer("custom", f"{server.origin}/v1", ("m", "n")),)


def test_servers_come_in_the_order_of_the_ports_and_each_once():
    answers = {LIST: model_list("m", owned_by="vllm")}
    with ListServer(answers) as one, ListServer(answers) as two, socket.create_server(("127.0.0.1", 0)) as closed:
        closed_port = closed.getsockname()[1]
        closed.close()
        ports = {"vllm": [two.port, closed_port], "llamacpp": [one.port, two.port]}
        assert [server.base_url for server in discover_local(ports)] == [f"{two.origin}/v1", f"{one.origin}/v1"]


def test_neither_a_key_nor_a_proxy_is_used(monkeypatch):
    with (
        ListServer({LIST: model_list("m", owned_by="vllm")}) as server,
        ListServer({}) as proxy,
    ):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.origin)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
        assert len(found(server)) == 1
        assert proxy.asked == []
        assert not {"authorization", "x-api-key", "api-key"} & set(server.asked[0].headers)


def test_without_ports_nothing_is_tried():
    assert discover_local({}) == ()


def test_the_usual_ports_are_the_catalogs():
    assert {name: tuple(ports) for name, ports in USUAL_PORTS.items()} == {
        service.name: service.ports for service in SERVICES.values() if service.local
    }
