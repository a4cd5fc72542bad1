"""Bodies are unpacked bit by bit, whatever the pieces they come in."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.environments.http_client import read_body
from tools.ports import WebError

_raw = zlib.compressobj(wbits=-15)
RAW = _raw.compress(b"raw " * 50) + _raw.flush()


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=5000), st.integers(1, 700), st.sampled_from(["", "gzip", "deflate"]))
def test_what_was_packed_comes_out(data: bytes, size: int, encoding: str) -> None:
    pack = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}[encoding]
    assert read_body(_pieces(pack(data), size), {"content-encoding": encoding}, 6000, "u") == data


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 100_000), st.integers(1, 20_000), st.sampled_from(["gzip", "deflate", ""]))
def test_more_than_the_limit_never_comes_out(size: int, limit: int, encoding: str) -> None:
    pack = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}[encoding]
    data = b"a" * size
    packed = pack(data)
    if size <= limit and len(packed) <= limit:
        assert read_body(_pieces(packed, 999), {"content-encoding": encoding}, limit, "u") == data
        return
    with pytest.raises(WebError) as caught:
        read_body(_pieces(packed, 999), {"content-encoding": encoding}, limit, "u")
    assert caught.value.kind == "size"


def test_deflate_without_its_header_and_gzip_in_several_members_are_read() -> None:
    assert read_body(_pieces(RAW, 7), {"content-encoding": "deflate"}, 1000, "u") == b"raw " * 50
    members = gzip.compress(b"one ") + gzip.compress(b"two")
    assert read_body(_pieces(members, 5), {"content-encoding": "gzip"}, 1000, "u") == b"one two"


def test_broken_data_is_an_error_of_the_answer() -> None:
    with pytest.raises(WebError) as caught:
        read_body([gzip.compress(b"x" * 100)[:15] + b"rubbish" * 9], {"content-encoding": "gzip"}, 1000, "u")
    assert caught.value.kind == "answer"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("size", [7, 4096])
def test_what_breaks_off_in_the_middle_is_not_taken_as_the_whole(encoding: str, size: int) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(100))
    packed = gzip.compress(lines) if encoding == "gzip" else zlib.compress(lines)
    with pytest.raises(WebError, match="broke off"):
        read_body(_pieces(packed[:-10], size), {"content-encoding": encoding}, 5000, "u")


def test_no_content_is_whole_however_it_would_be_packed() -> None:
    assert read_body([], {"content-encoding": "gzip"}, 1000, "u") == b""
