"""Pages of files: a small file read at once and a large one read in pieces give the same."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from tools.files.seen import digest_of
from tools.settings import ReadSettings
from tools.text import pages
from tools.text.pages import NotText, Page, read_page

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

LIMITS = ReadSettings(max_line_chars=12, max_chars=60)
LINES = st.lists(
    st.tuples(st.text("aä大\t \\\"'", max_size=20), st.sampled_from(["\n", "\r\n", "\r\r\n"])), max_size=12
)


def in_pieces(data: bytes, offset: int, limit: int) -> Page:
    return pages.page_of_many(data, offset, limit, LIMITS)


@given(LINES, st.text("a\r", max_size=3), st.integers(1, 15), st.integers(1, 15))
@settings(max_examples=60, deadline=None)
def test_both_ways_of_reading_give_the_same_page(lines: list[tuple[str, str]], rest: str, offset: int, limit: int):
    data = ("".join(map("".join, lines)) + rest).encode()
    at_once = read_page(io.BytesIO(data), offset, limit, LIMITS)
    assert replace(at_once, newline="\n") == in_pieces(data, offset, limit)


@given(LINES, st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_page_by_page_all_lines_come_once_and_in_order(lines: list[tuple[str, str]], limit: int):
    text = "".join(map("".join, lines))
    found: list[str] = []
    offset = 1
    while True:
        page = read_page(io.BytesIO(text.encode()), offset, limit, replace(LIMITS, max_line_chars=1000))
        assert len(page.lines) <= limit
        found += page.lines
        offset += len(page.lines)
        if not page.more:
            break
    assert found == [line.removesuffix("\r") for line in text.split("\n")[: len(lines)]]


def test_a_large_file_has_the_same_digest_as_a_small_one():
    data = b"line\n" * 1_000_000
    page = read_page(io.BytesIO(data), 999_999, 5, ReadSettings())
    assert (page.lines, page.total, page.more) == (("line", "line"), 1_000_000, False)
    assert page.digest == digest_of(data)


def test_a_file_that_is_too_big_has_no_digest():
    page = read_page(io.BytesIO(b"line\n" * 1000), 1, 5, replace(ReadSettings(), max_bytes=1000))
    assert (page.total, page.digest) == (None, "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16"])
def test_a_large_file_of_wide_characters_is_read(encoding: str):
    data = ("größe\n" * 500_000).encode(encoding)
    page = read_page(io.BytesIO(data), 400_000, 2, ReadSettings())
    assert (page.lines, page.encoding, page.total) == (("größe", "größe"), "utf-16-le", 500_000)


def test_a_large_file_in_an_old_encoding_is_read():
    data = "Привет, мир! Это обычный текст.\n".encode("cp1251") * 150_000
    page = read_page(io.BytesIO(data), 140_000, 1, ReadSettings())
    assert (page.lines, page.encoding) == (("Привет, мир! Это обычный текст.",), "cp1251")


def test_a_mark_that_lies_is_not_believed():
    with pytest.raises(NotText, match="begins like utf-16-le"):
        read_page(io.BytesIO(b"\xff\xfeabc"), 1, 1, ReadSettings())
