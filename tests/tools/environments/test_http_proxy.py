"""A proxy of the environment's is used, and does not lead inside what is known here to be there."""

from __future__ import annotations

import pytest

from tests.support.each import each
from tests.support.tool_context import ScriptedApprover
from tests.support.web_server import WebBench, WebServer, no_network
from tools.environments.http_connect import Proxy, proxy_for
from tools.errors import Denied
from tools.ports import WebError, WebRequest
from tools.web.addresses import target_of

PROXIES = {
    "http": "http://me:p%40w@proxy.example:3128",
    "https": "proxy.example",
    "no": "direct.example,.corp.example",
}


@each(
    ("url", "proxy"),
    [
        ("http://docs.example.org/", Proxy("proxy.example", 3128, (b"me", b"p@w"))),
        ("https://docs.example.org/", Proxy("proxy.example", 80)),
        ("http://direct.example/", None),
        ("http://a.corp.example/", None),
        ("http://localhost/", None),
        ("http://10.1.2.3/", None),
        ("http://[::1]/", None),
    ],
)
def test_the_environment_says_what_goes_through_a_proxy(url: str, proxy: Proxy | None) -> None:
    assert proxy_for(target_of(url), PROXIES) == proxy


@pytest.mark.parametrize(
    "url", ["socks5://proxy.example:1080", "https://proxy.example:1", "http://:80", "http://h:port"]
)
def test_a_proxy_that_cannot_be_used_is_told(url: str) -> None:
    with pytest.raises(WebError, match="http_proxy"):
        proxy_for(target_of("http://docs.example.org/"), {"http": url})


def _find(host: str, port: int) -> list[str]:
    return {"proxy.example": ["127.0.0.1"], "inner.example": ["10.0.0.5"]}.get(host) or no_network(host, port)


def _bench(server: WebServer) -> WebBench:
    return WebBench(approver=ScriptedApprover(), find=_find, proxies={"http": f"http://proxy.example:{server.port}"})


def test_a_name_that_only_the_proxy_knows_is_asked_of_it() -> None:
    with WebServer({"http://docs.example.org/a": b"through"}) as server:
        bench = _bench(server)
        response = bench.web().fetch(WebRequest("http://docs.example.org/a"), bench.token)
    assert response.body == b"through"
    assert server.requests[0].headers["Host"] == "docs.example.org"


def test_a_name_that_leads_inside_from_here_is_not_asked_of_the_proxy() -> None:
    with WebServer() as server:
        bench = _bench(server)
        bench.mode = "dont_ask"
        with pytest.raises(Denied, match="private network"):
            bench.web().fetch(WebRequest("http://inner.example/"), bench.token)
    assert server.requests == []
