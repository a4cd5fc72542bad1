"""The server's name in a client's first message, as real clients send it and as nobody should."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.each import each
from tools.environments.sandbox_network.client_hello import MOST_BYTES, Hello, read_hello


def client_hello(name: str | None) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    outgoing = ssl.MemoryBIO()
    connection = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def split(hello: bytes, size: int) -> bytes:
    """The same message in records of `size` bytes."""
    body = hello[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(hello[:3] + len(piece).to_bytes(2) + piece for piece in pieces)


def with_name(names: bytes) -> bytes:
    """A message with this list of names as its only extension."""
    extension = b"\0\0" + (len(names) + 2).to_bytes(2) + len(names).to_bytes(2) + names
    rest = b"\x03\x03" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + len(extension).to_bytes(2) + extension
    message = b"\1" + len(rest).to_bytes(3) + rest
    return b"\x16\3\1" + len(message).to_bytes(2) + message


def test_the_name_is_read() -> None:
    assert read_hello(client_hello("docs.example.org")) == Hello("tls", "docs.example.org")


def test_a_client_may_name_nobody() -> None:
    assert read_hello(client_hello(None)) == Hello("tls", "")


def test_a_message_in_many_records_is_put_together() -> None:
    assert read_hello(split(client_hello("docs.example.org"), 7)) == Hello("tls", "docs.example.org")


def test_every_beginning_needs_more() -> None:
    hello = client_hello("docs.example.org")
    assert {read_hello(hello[:end]).kind for end in range(len(hello))} == {"more"}


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n", b"SSH-2.0-x\r\n", b"\x80\x2e\1\0\2", b"\x16\2\0\0\1\0"])
def test_what_is_no_tls_is_plain(data: bytes) -> None:
    assert read_hello(data) == Hello("plain")


@each(
    "names",
    [
        b"\0\0\3one\0\0\3two",
        b"\1\0\3one",
        b"\0\0\x09short",
        b"",
        b"\0\0\3\xff\xfe\xfd",
    ],
)
def test_names_that_can_be_read_in_two_ways_are_broken(names: bytes) -> None:
    assert read_hello(with_name(names)) == Hello("broken")


def test_case_and_the_last_dot_do_not_matter() -> None:
    assert read_hello(with_name(b"\0\0\x0cExample.ORG.")) == Hello("tls", "example.org")


def test_a_message_that_never_ends_is_broken() -> None:
    record = b"\x16\3\1\x40\0" + b"\1\xff\xff\xff" + bytes(0x4000 - 4)
    assert read_hello((record + b"\x16\3\1\x40\0" + bytes(0x4000)) * 3).kind == "broken"
    assert len(record) * 4 > MOST_BYTES


@given(st.binary(max_size=300))
def test_nothing_makes_it_raise(rest: bytes) -> None:
    read_hello(b"\x16\3\1" + rest)
