"""Requests over real loopback connections: redirects, limits, addresses, and the end of a turn."""

from __future__ import annotations

import gzip
import ssl
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.certificates import OPENSSL, make_certificates
from tests.support.each import each
from tests.support.tool_context import ScriptedApprover
from tests.support.web_server import Exchange, WebBench, WebServer, no_network, redirect, typed
from tools.approval.actions import ReachHost
from tools.environments.http_connect import Deadline
from tools.errors import Denied, ToolInterrupted
from tools.ports import WebError, WebRequest, WebResponse
from tools.settings import WebSettings

OPEN = WebSettings(allow_private=True)


def fetch(url: str, bench: WebBench | None = None, **request: object) -> WebResponse:
    bench = bench or WebBench(OPEN, ScriptedApprover())
    return bench.web().fetch(WebRequest(url, **request), bench.token)  # type: ignore[arg-type]


def refused(url: str, bench: WebBench | None = None, **request: object) -> WebError:
    with pytest.raises(WebError) as caught:
        fetch(url, bench, **request)
    return caught.value


def test_an_answer_comes_with_its_status_headers_and_body() -> None:
    with WebServer({"/a": typed(b"hello", "text/plain", X_Sort="small")}) as server:
        response = fetch(server.url("/a?q=1"))
        missing = fetch(server.url("/missing"))
    assert (response.status, response.body, response.headers["x-sort"]) == (200, b"hello", "small")
    assert (missing.status, missing.body) == (404, b"nothing here")
    assert server.requests[0].path == "/a?q=1"
    assert server.requests[0].headers["Host"] == f"127.0.0.1:{server.port}"


def test_a_post_is_sent_once_with_its_body_and_headers() -> None:
    with WebServer({"/p": redirect("/elsewhere")}) as server:
        response = fetch(server.url("/p"), method="POST", body=b'{"a":1}', headers={"X-Key": "k"})
    assert response.status == 302
    [request] = server.requests
    assert (request.method, request.body, request.headers["X-Key"]) == ("POST", b'{"a":1}', "k")


@each("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_to_the_end(status: int) -> None:
    with WebServer({"/": redirect("next?x=1#part", status), "/next": b"there"}) as server:
        response = fetch(server.url())
        assert response.url == server.url("/next?x=1")
    assert response.body == b"there"


def test_redirects_without_end_are_given_up() -> None:
    with WebServer({"/": redirect("/")}) as server:
        problem = refused(server.url())
    assert problem.kind == "redirect"
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://example.org/", "http://me:pw@example.org/", "http://[/"]
)
def test_a_redirect_leads_only_where_a_url_may(location: str) -> None:
    with WebServer({"/": redirect(location)}) as server:
        assert refused(server.url()).kind in {"url", "redirect"}
    assert len(server.requests) == 1


def test_a_key_is_not_sent_on_to_another_origin() -> None:
    with WebServer({"/": b"there"}) as other, WebServer({"/": redirect(other.url())}) as server:
        fetch(server.url(), headers={"X-Key": "secret", "Accept": "text/plain"})
    assert server.requests[0].headers["X-Key"] == "secret"
    assert "X-Key" not in other.requests[0].headers
    assert other.requests[0].headers["Accept"] == "text/plain"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/"]
)
def test_this_machine_is_not_asked_unless_the_person_says_so(url: str) -> None:
    with WebServer({"/": b"secret"}) as server:
        with pytest.raises(Denied):
            fetch(url.format(port=server.port), WebBench())
        assert server.requests == []
        approver = ScriptedApprover()
        fetch(server.url(), WebBench(approver=approver))
    assert approver.asked == [ReachHost(server.url(), f"127.0.0.1:{server.port}", "this machine")]


def test_this_machine_is_not_asked_in_the_mode_without_questions() -> None:
    with WebServer({"/": b"secret"}) as server:
        with pytest.raises(Denied, match="this machine"):
            fetch(server.url(), WebBench(approver=ScriptedApprover(), mode="dont_ask"))
        assert fetch(server.url(), WebBench(OPEN, mode="dont_ask")).status == 200
    assert len(server.requests) == 1


@each(
    "host",
    [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:a9fe:a9fe]",
        "0.0.0.0",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
    ],
)
def test_what_no_page_may_lead_to_cannot_be_allowed(host: str) -> None:
    approver = ScriptedApprover()
    assert refused(f"http://{host}/", WebBench(OPEN, approver, find=no_network)).kind == "address"
    assert approver.asked == []


def test_a_public_name_that_leads_inside_is_asked_about_as_what_it_is() -> None:
    approver = ScriptedApprover()
    with WebServer({"/": b"secret"}) as server:
        bench = WebBench(approver=approver, find=lambda host, port: ["127.0.0.1"])
        fetch(server.url(host="docs.example.org"), bench)
    assert [(action.place, action.inside) for action in approver.asked if isinstance(action, ReachHost)] == [
        (f"docs.example.org:{server.port}", ""),
        (f"docs.example.org:{server.port}", "this machine"),
    ]


def test_one_private_address_among_public_ones_is_enough_to_ask() -> None:
    with pytest.raises(Denied, match="private network"):
        fetch(
            "http://docs.example.org/",
            WebBench(mode="dont_ask", find=lambda host, port: ["93.184.216.34", "10.0.0.5"]),
        )


def test_a_redirect_inside_is_checked_like_the_first_address() -> None:
    with (
        WebServer({"/": b"secret"}) as inner,
        WebServer({"/": redirect(inner.url(host="rebound.example"))}) as server,
    ):
        bench = WebBench(
            mode="dont_ask",
            settings=WebSettings(),
            find=lambda host, port: ["127.0.0.1"],
            approver=ScriptedApprover(),
        )
        with pytest.raises(Denied):
            fetch(server.url(host="first.example"), bench)
    assert inner.requests == []


def test_a_name_is_looked_up_once_and_its_answer_is_what_is_connected_to() -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    looked_up: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return next(answers)

    with WebServer({"/": b"public"}) as server:
        response = fetch(server.url(host="rebind.example"), WebBench(OPEN, ScriptedApprover(), find=rebinding))
    assert response.body == b"public"
    assert looked_up == ["rebind.example"]
    assert server.requests[0].headers["Host"] == f"rebind.example:{server.port}"


def test_a_rebound_name_is_refused_at_the_redirect_that_uses_it() -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    with WebServer({"/": redirect("/again")}) as server:
        bench = WebBench(OPEN, ScriptedApprover(), find=lambda host, port: next(answers))
        assert refused(server.url(host="rebind.example"), bench).kind == "address"
    assert len(server.requests) == 1


def test_nothing_is_looked_up_before_the_person_says_yes() -> None:
    bench = WebBench(find=no_network)
    with pytest.raises(Denied):
        fetch("https://secret-in-a-name.example.org/", bench)


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with WebServer({"/": b"there"}) as server:
        bench = WebBench(OPEN, ScriptedApprover(), find=lambda host, port: ["::1", "127.0.0.1"])
        assert fetch(server.url(host="two.example"), bench).body == b"there"


def test_ipv6_is_spoken() -> None:
    try:
        server = WebServer({"/": b"six"}, host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server:
        assert fetch(server.url(host="[::1]")).body == b"six"
    assert server.requests[0].headers["Host"] == f"[::1]:{server.port}"


def test_a_long_answer_is_refused_by_its_declared_size_without_reading_it() -> None:
    def huge(exchange: Exchange) -> None:
        exchange.head(200, **{"Content-Length": str(10**12)})
        exchange.hold()

    with WebServer({"/": huge}) as server:
        assert refused(server.url()).kind == "size"


def test_an_answer_without_end_is_cut_off_at_the_limit() -> None:
    def endless(exchange: Exchange) -> None:
        exchange.head(200, Connection="close")
        while not exchange.stopping.is_set():
            exchange.write(b"x" * 65536)

    with WebServer({"/": endless}) as server:
        assert refused(server.url(), max_bytes=300_000).kind == "size"


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_bomb_is_not_unpacked(encoding: str, pack: Callable[[bytes, int], bytes]) -> None:
    packed = pack(bytes(64 * 1024 * 1024), 1)
    with WebServer({"/": typed(packed, "text/plain", Content_Encoding=encoding)}) as server:
        assert refused(server.url(), max_bytes=1_000_000).kind == "size"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
def test_a_packing_that_was_not_offered_is_refused(encoding: str) -> None:
    with WebServer({"/": typed(b"???", "text/plain", Content_Encoding=encoding)}) as server:
        assert encoding in str(refused(server.url()))


def test_a_body_that_drips_ends_at_the_time_limit() -> None:
    def dripping(exchange: Exchange) -> None:
        exchange.head(200, **{"Content-Length": "1000"})
        while not exchange.stopping.wait(0.05):
            exchange.write(b".")

    with WebServer({"/": dripping}) as server:
        problem = refused(server.url(), timeout=0.4)
    assert problem.kind == "timeout"
    assert "0.4 seconds" in str(problem)


def test_the_time_that_the_person_takes_does_not_count() -> None:
    now = [0.0]
    deadline = Deadline(10, "u", CancelToken(), lambda: now[0])
    with deadline.paused():
        now[0] = 60.0
    now[0] += 4
    assert deadline.left() == 6
    now[0] += 6
    with pytest.raises(WebError):
        deadline.left()


@pytest.mark.parametrize("phase", ["silence", "body"])
def test_a_cancel_ends_the_request_at_once(phase: str) -> None:
    def slow(exchange: Exchange) -> None:
        if phase == "body":
            exchange.head(200, **{"Content-Length": "1000"})
            exchange.write(b"some")
        exchange.hold()

    with WebServer({"/": slow}) as server:
        bench = WebBench(OPEN, ScriptedApprover())
        threading.Thread(target=lambda: server.heard.wait(10) and bench.token.cancel()).start()
        with pytest.raises(ToolInterrupted):
            fetch(server.url(), bench)


def test_a_cancel_ends_a_look_up() -> None:
    asked, released = threading.Event(), threading.Event()
    bench = WebBench(OPEN, ScriptedApprover(), find=lambda host, port: [asked.set(), released.wait(20), ""][2:])
    threading.Thread(target=lambda: asked.wait(10) and bench.token.cancel()).start()
    with pytest.raises(ToolInterrupted):
        fetch("http://slow.example/", bench)
    released.set()


def test_a_turn_that_is_over_asks_nothing() -> None:
    token = CancelToken()
    token.cancel()
    with WebServer({"/": b"x"}) as server, pytest.raises(ToolInterrupted):
        fetch(server.url(), WebBench(OPEN, ScriptedApprover(), token=token))
    assert server.requests == []


@each(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://me@example.org/",
        "http://me:pw@example.org/",
        "/path",
        "http://",
    ],
)
def test_a_url_that_is_not_asked_for_says_why(url: str) -> None:
    assert refused(url).kind == "url"


def test_nothing_listening_and_no_such_host_are_told_apart() -> None:
    with WebServer() as server:
        url = server.url()
    assert "refused" in str(refused(url))
    missing = refused("http://missing.example/", WebBench(OPEN, ScriptedApprover(), find=no_network))
    assert "missing.example was not found" in str(missing)


def test_an_answer_that_is_not_http_is_told() -> None:
    def rubbish(exchange: Exchange) -> None:
        exchange.write(b"SSH-2.0-x\r\n\r\n")

    with WebServer({"/": rubbish}) as server:
        assert refused(server.url()).kind == "answer"


@pytest.mark.skipif(OPENSSL is None, reason="needs the openssl command")
def test_a_certificate_is_checked_for_the_name_in_the_url(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)

    def trust() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(certificates.ca))

    with WebServer({"/": b"safe"}, tls=certificates.server_context()) as server:
        bench = WebBench(OPEN, ScriptedApprover(), find=lambda host, port: ["127.0.0.1"], trust=trust)
        assert fetch(server.url(host="model.example"), bench).body == b"safe"
        assert refused(server.url(host="other.example"), bench).kind == "tls"
        assert refused(server.url(), WebBench(OPEN, ScriptedApprover())).kind == "tls"


@pytest.mark.skipif(OPENSSL is None, reason="needs the openssl command")
def test_https_does_not_lead_back_to_http(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    trust = ssl.create_default_context(cafile=str(certificates.ca))
    with (
        WebServer({"/": b"plain"}) as plain,
        WebServer({"/": redirect(plain.url())}, tls=certificates.server_context()) as server,
    ):
        assert refused(server.url(), WebBench(OPEN, ScriptedApprover(), trust=lambda: trust)).kind == "redirect"
    assert plain.requests == []
