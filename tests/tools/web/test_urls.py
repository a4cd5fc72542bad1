"""URLs as they are read, and where redirects lead."""

from __future__ import annotations

import pytest

from tests.support.each import each
from tools.ports import WebError
from tools.web.addresses import redirected, target_of


@each(
    ("url", "place", "path"),
    [
        ("https://Docs.Example.org", "docs.example.org", b"/"),
        ("https://docs.example.org:443/a?b=c#d", "docs.example.org", b"/a?b=c"),
        ("http://docs.example.org:443/", "docs.example.org:443", b"/"),
        ("http://bücher.example/ü?q=ü", "xn--bcher-kva.example", b"/%C3%BC?q=%C3%BC"),
        ("http://[::1]:8080/", "[::1]:8080", b"/"),
        (" https://docs.example.org/a b ", "docs.example.org", b"/a%20b"),
    ],
)
def test_a_url_is_read(url: str, place: str, path: bytes) -> None:
    target = target_of(url)
    assert (target.place, target.path) == (place, path)
    assert "#" not in target.url


@each(
    "url",
    [
        "",
        "x",
        "//host/",
        "http://",
        "http://.",
        "http://a b/",
        "http://h:0/",
        "http://h:70000/",
        "http://h\r\nX: y/",
        "gopher://h/",
    ],
)
def test_what_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(WebError) as caught:
        target_of(url)
    assert caught.value.kind == "url"


def test_a_password_is_not_repeated_in_the_error() -> None:
    with pytest.raises(WebError) as caught:
        target_of("https://me:hunter2@example.org/")
    assert "hunter2" not in str(caught.value)


def test_a_very_long_url_is_refused() -> None:
    with pytest.raises(WebError, match="not sent"):
        target_of("https://example.org/" + "a" * 9000)


def test_a_redirect_is_read_from_where_it_stands() -> None:
    target = target_of("https://example.org/a/b")
    assert redirected(target, "../c?d").url == "https://example.org/c?d"
    assert redirected(target, "//other.example/x").place == "other.example"
    with pytest.raises(WebError, match="https to http"):
        redirected(target, "http://example.org/")
