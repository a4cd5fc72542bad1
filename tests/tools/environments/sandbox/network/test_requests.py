"""Heads of requests: read in one way or not at all."""

from __future__ import annotations

import pytest

from tests.support.each import each
from tools.environments.sandbox.network.proxy import MOST_HEAD, BadRequest, read_request


def head(first: str, *lines: str) -> bytes:
    return "\r\n".join((first, *lines, "", "")).encode("latin-1")


@each(
    ("first", "host", "port", "path"),
    [
        ("CONNECT Docs.Example.org:443 HTTP/1.1", "docs.example.org", 443, b""),
        ("CONNECT [::1]:8443 HTTP/1.1", "::1", 8443, b""),
        ("GET http://docs.example.org HTTP/1.1", "docs.example.org", 80, b"/"),
        ("GET http://docs.example.org?a=1 HTTP/1.0", "docs.example.org", 80, b"/?a=1"),
        ("POST HTTP://docs.example.org:8080/a/../b HTTP/1.1", "docs.example.org", 8080, b"/a/../b"),
    ],
)
def test_where_it_goes_is_read(first: str, host: str, port: int, path: bytes) -> None:
    request = read_request(head(first))
    assert (request.host, request.port, request.path) == (host, port, path)


@each(
    "first",
    [
        "GET / HTTP/1.1",
        "GET https://docs.example.org/ HTTP/1.1",
        "GET http://a.example@b.example/ HTTP/1.1",
        "GET http:///path HTTP/1.1",
        "GET http://a.example:0/ HTTP/1.1",
        "GET http://a.example:http/ HTTP/1.1",
        "GET http://a.example\\@b.example/ HTTP/1.1",
        "GET http://a.example/x y HTTP/1.1",
        "CONNECT a.example HTTP/1.1",
        "CONNECT a.example:99999 HTTP/1.1",
        "CONNECT a.example:443/x HTTP/1.1",
        "get http://a.example/ HTTP/1.1",
        "GET http://a.example/ HTTP/2",
        "",
    ],
)
def test_a_first_line_that_is_not_plain_is_refused(first: str) -> None:
    with pytest.raises(BadRequest):
        read_request(head(first))


@each(
    "lines",
    [
        ("Content-Length: 1", "Content-Length: 2"),
        ("Content-Length: 1", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Content-Length: +1",),
        ("Content-Length: 1, 1",),
        ("Content-Length : 1",),
        (" folded",),
        ("X: a\nHost: other.example",),
        ("X: a\rY: b",),
        ("no colon",),
    ],
)
def test_a_head_that_two_readers_could_take_differently_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest):
        read_request(head("POST http://a.example/ HTTP/1.1", *lines))


def test_what_is_meant_for_the_proxy_is_not_passed_on() -> None:
    request = read_request(
        head(
            "GET http://a.example/ HTTP/1.1",
            "Host: other.example",
            "Proxy-Authorization: Basic abc",
            "Proxy-Connection: keep-alive",
            "Connection: X-Secret, close",
            "X-Secret: 1",
            "Upgrade: websocket",
            "Accept: */*",
        )
    )
    assert request.fields == ((b"accept", b"*/*"),)
    assert request.authorization == b"Basic abc"


def test_the_length_of_the_body_cannot_be_hidden_from_the_server() -> None:
    request = read_request(head("POST http://a.example/ HTTP/1.1", "Connection: content-length", "Content-Length: 5"))
    assert request.body == 5
    assert (b"content-length", b"5") in request.fields


def test_a_head_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadRequest, match="longer"):
        read_request(head("GET http://a.example/ HTTP/1.1", "X: " + "a" * MOST_HEAD))
