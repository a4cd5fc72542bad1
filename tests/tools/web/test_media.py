"""What a body is and how its text is decoded, whatever the server says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.each import each
from tools.web.reading import content_type, kind_of, text_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@each(
    ("told", "body", "kind"),
    [
        ("text/html", b"<p>x", "html"),
        ("", b"<!DOCTYPE html><p>x", "html"),
        ("text/plain", b"  <html><body>x", "html"),
        ("text/plain", b"just text", "text"),
        ("text/plain", PNG, "binary"),
        ("application/octet-stream", b"print(1)\n", "text"),
        ("application/octet-stream", PNG, "binary"),
        ("", b'{"a": 1}', "json"),
        ("application/vnd.api+json", b"{}", "json"),
        ("application/atom+xml", b"<feed/>", "text"),
        ("text/x-python", b"x = 1", "text"),
        ("text/markdown", b"# x", "markdown"),
        ("text/html", b"%PDF-1.7 ...", "pdf"),
        ("application/pdf", b"%PDF-1.7 ...", "pdf"),
        ("image/png", PNG, "binary"),
        ("application/zip", b"PK\3\4", "binary"),
        ("text/csv", PNG, "binary"),
        ("", "text".encode("utf-16"), "text"),
        ("", b"", "text"),
    ],
)
def test_a_body_is_what_its_type_and_its_bytes_say(told: str, body: bytes, kind: str) -> None:
    assert kind_of(told, body) == kind


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ('Text/HTML; Charset="UTF-8"', ("text/html", "utf-8")),
        ("application/json", ("application/json", "")),
        ("", ("", "")),
        ("text/html; charset=", ("text/html", "")),
    ],
)
def test_a_content_type_is_read_with_its_charset(header: str, told: tuple[str, str]) -> None:
    assert content_type({"content-type": header}) == told


@each(
    ("body", "charset", "text"),
    [
        ("grün".encode(), "", "grün"),
        ("grün".encode(), "iso-8859-1", "grÃ¼n"),
        ("grün".encode("latin-1"), "iso-8859-1", "grün"),
        ("grün".encode("latin-1"), "utf-8", "gr\ufffdn"),
        ("grün".encode("latin-1"), "", "grün"),
        ("Привет, мир! Это обычный текст.".encode("cp1251"), "", "Привет, мир! Это обычный текст."),
        ("größer als Ü".encode() + b" \xff", "", "größer als Ü \ufffd"),
        ("“x”".encode("cp1252"), "iso-8859-1", "“x”"),
        ("漢字".encode("shift_jis"), "Shift_JIS", "漢字"),
        ("漢字".encode("utf-16"), "iso-8859-1", "漢字"),
        ("x".encode("utf-8-sig"), "", "x"),
        ("привет".encode("cp1251"), "windows-1251", "привет"),
        ('<meta charset="windows-1251">привет'.encode("cp1251"), "", '<meta charset="windows-1251">привет'),
        ('<meta charset="utf-16">ü'.encode(), "", '<meta charset="utf-16">ü'),
        (b"x", "no-such-charset", "x"),
        (b"x", "base64", "x"),
    ],
)
def test_text_is_decoded_as_it_was_meant(body: bytes, charset: str, text: str) -> None:
    assert text_of(body, charset) == text


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=100), st.text(max_size=12), st.text(max_size=12))
def test_any_bytes_with_any_labels_are_something(body: bytes, told: str, charset: str) -> None:
    kind_of(told, body)
    assert isinstance(text_of(body, charset), str)
    content_type({"content-type": told})
