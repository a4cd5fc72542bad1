"""Requests through the environment's proxies, and around them."""

from __future__ import annotations

import httpcore2
import pytest

from agent_core.errors import ProviderConnectionError
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest, TextDelta
from agent_core.providers.transport import make_client
from tests.support.agents import in_background
from tests.support.certificates import OPENSSL
from tests.support.forwarder import Forwarder
from tests.support.model_server import Hang, Reply

REQUEST = ModelRequest("test-model", [user_message("hello")])
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="the openssl command is not installed")


@pytest.fixture
def secure(model_server, certificates, monkeypatch):
    """The fake model server behind TLS; its CA is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    with Forwarder(model_server.port, tls=certificates.server_context()) as front:
        yield front


@needs_openssl
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_https_goes_through_a_tunnel_that_sees_neither_key_nor_question(
    model_server, secure, connect, ask, monkeypatch, variable
):
    model_server.add(Reply("through the tunnel"))
    with Forwarder(secure.port, tunnel=True) as proxy:
        monkeypatch.setenv(variable, f"http://user:pass@127.0.0.1:{proxy.port}")
        assert ask(connect("https://model.example/v1"))[0] == TextDelta("through the tunnel")
        assert proxy.connects == ["CONNECT model.example:443 HTTP/1.1"]
        assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in proxy.heads[0]
        assert "Bearer" not in proxy.heads[0]
    assert "proxy-authorization" not in model_server.requests[0].headers


@needs_openssl
def test_a_proxy_that_speaks_tls_itself_is_trusted_by_the_same_certificates(
    model_server, secure, certificates, connect, ask, monkeypatch
):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.ca))
    model_server.add(Reply("twice wrapped"))
    with Forwarder(secure.port, tls=certificates.server_context(), tunnel=True) as proxy:
        monkeypatch.setenv("https_proxy", proxy.origin)
        assert ask(connect("https://model.example/v1"))[0] == TextDelta("twice wrapped")


@needs_openssl
def test_close_ends_a_request_in_a_tunnel(model_server, secure, connect, monkeypatch):
    model_server.add(Hang(before_headers=True))
    with Forwarder(secure.port, tunnel=True) as proxy:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{proxy.port}")
        stream = connect("https://model.example/v1").stream(REQUEST)
        running = in_background(lambda: list(stream))
        model_server.wait_for_request()
        stream.close()
        with pytest.raises(ProviderConnectionError):
            running.result(2)


def test_a_proxy_that_refuses_the_tunnel_is_named(connect, ask, monkeypatch):
    with Forwarder(1, tunnel=True, refuse=True) as proxy:
        monkeypatch.setenv("https_proxy", proxy.origin)
        with pytest.raises(ProviderConnectionError, match="407 Proxy Authentication Required") as caught:
            ask(connect("https://model.example/v1"))
    assert caught.value.fault == "proxy"
    assert "HTTPS_PROXY" in caught.value.public


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_is_named(connect, ask, monkeypatch, scheme, refused_port):
    address = f"127.0.0.1:{refused_port}"
    monkeypatch.setenv("all_proxy", f"http://user:secret@{address}")
    with pytest.raises(ProviderConnectionError, match=f"the proxy {address}.*refused") as caught:
        ask(connect(f"{scheme}://model.example/v1"))
    assert caught.value.fault == "proxy"
    assert "secret" not in caught.value.public


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "ftp://127.0.0.1:1", "http://127.0.0.1:port"])
def test_a_proxy_that_cannot_be_used_is_an_error_that_names_the_variable(ask, connect, monkeypatch, proxy):
    monkeypatch.setenv("all_proxy", proxy)
    with pytest.raises(ProviderConnectionError, match="all_proxy cannot be used") as caught:
        ask(connect())
    assert caught.value.fault == "proxy"


@pytest.mark.parametrize(
    ("no_proxy", "url", "proxied"),
    [
        ("", "http://model.example", True),
        ("model.example", "http://model.example", False),
        ("model.example", "https://model.example:8443", False),
        ("MODEL.example", "http://model.example", False),
        ("model.example", "http://eu.model.example", False),
        ("model.example", "http://mymodel.example", True),
        (".model.example", "http://eu.model.example", False),
        (".model.example", "http://model.example", True),
        ("*.model.example", "http://eu.model.example", False),
        ("model.example:8080", "http://model.example:8080", False),
        ("model.example:8080", "http://model.example:9090", True),
        ("a.example, model.example ,", "http://model.example", False),
        ("*", "http://model.example", False),
        ("a.example,*", "http://model.example", False),
        ("192.0.2.7", "http://192.0.2.7:8080", False),
        ("192.0.2.7", "http://192.0.2.70", True),
        ("192.0.2.7:8080", "http://192.0.2.7:9090", True),
        ("192.0.2.0/24", "http://192.0.2.7", False),
        ("192.0.2.0/24", "http://198.51.100.7", True),
        ("192.0.2.0/24:80", "http://192.0.2.7", True),
        ("2001:db8::1", "http://[2001:db8::1]:8080", False),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:9090", True),
        ("[2001:db8::1]:8080", "http://[2001:db8::1]:8080", False),
        ("2001:db8::/32", "http://[2001:db8::7]", False),
        ("192.0.2.0/24", "http://model.example", True),
        ("not a host:x,[,", "http://model.example", True),
        ("", "http://localhost:11434", False),
        ("", "http://127.0.0.3:11434", False),
        ("", "http://[::1]:11434", False),
    ],
)
def test_what_no_proxy_says(monkeypatch, no_proxy, url, proxied):
    monkeypatch.setenv("all_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", no_proxy)

    def answered(pool, _):
        return httpcore2.Response(200, content=b"proxy" if isinstance(pool, httpcore2.HTTPProxy) else b"direct")

    monkeypatch.setattr(httpcore2.ConnectionPool, "handle_request", answered)
    with make_client() as client:
        assert client.get(url).text == ("proxy" if proxied else "direct")
