"""The server's name in a client's first message, as real clients send it and as nobody should."""

from __future__ import annotations

import hashlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.each import each
from tools.environments.sandbox.network.proxy import MOST_BYTES, Hello, asks_again, other_record, read_hello


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


def with_extensions(extensions: bytes) -> bytes:
    rest = b"\x03\x03" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + len(extensions).to_bytes(2) + extensions
    return record(b"\1" + len(rest).to_bytes(3) + rest)


def record(content: bytes, kind: int = 22) -> bytes:
    return bytes([kind]) + b"\3\1" + len(content).to_bytes(2) + content


def with_name(names: bytes) -> bytes:
    """A message with this list of names as its only extension."""
    return with_extensions(b"\0\0" + (len(names) + 2).to_bytes(2) + len(names).to_bytes(2) + names)


def encrypted_hello(name: str, kind: int = 0xFE0D) -> bytes:
    """A message that names a host, and has another within what is encrypted."""
    host = b"\0" + len(name).to_bytes(2) + name.encode()
    named = b"\0\0" + (len(host) + 2).to_bytes(2) + len(host).to_bytes(2) + host
    return with_extensions(named + kind.to_bytes(2) + (40).to_bytes(2) + bytes(40))


def server_hello(random: bytes) -> bytes:
    rest = b"\x03\x03" + random + b"\0\x13\x01\0" + (6).to_bytes(2) + b"\0\x2b\0\2\3\4"
    return record(b"\2" + len(rest).to_bytes(3) + rest)


RETRY = server_hello(hashlib.sha256(b"HelloRetryRequest").digest())
"""A server's hello that asks for another client hello."""


def _seen(data: bytes) -> tuple[str, str, bool]:
    hello = read_hello(data)
    return hello.kind, hello.name, hello.hides


def test_the_name_is_read() -> None:
    assert _seen(client_hello("docs.example.org")) == ("tls", "docs.example.org", False)


def test_a_client_may_name_nobody() -> None:
    assert _seen(client_hello(None)) == ("tls", "", False)


def test_a_message_in_many_records_is_put_together() -> None:
    assert _seen(split(client_hello("docs.example.org"), 7)) == ("tls", "docs.example.org", False)


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
    assert _seen(with_name(b"\0\0\x0cExample.ORG.")) == ("tls", "example.org", False)


def test_a_message_that_never_ends_is_broken() -> None:
    record = b"\x16\3\1\x40\0" + b"\1\xff\xff\xff" + bytes(0x4000 - 4)
    assert read_hello((record + b"\x16\3\1\x40\0" + bytes(0x4000)) * 3).kind == "broken"
    assert len(record) * 4 > MOST_BYTES


@pytest.mark.parametrize("kind", [0xFE0D, 0xFFCE])
def test_a_message_with_an_encrypted_part_may_hide_its_host(kind: int) -> None:
    hello = encrypted_hello("docs.example.org", kind)
    assert _seen(hello) == _seen(split(hello, 3)) == ("tls", "docs.example.org", True)
    assert _seen(encrypted_hello("docs.example.org", 0x0017)) == ("tls", "docs.example.org", False)


def test_what_follows_the_message_is_not_counted() -> None:
    hello = client_hello("docs.example.org")
    assert read_hello(hello + b"\x17\3\3\0\1x").size == len(hello)
    assert read_hello(split(hello, 9) + hello).size == len(split(hello, 9))


def test_two_client_hellos_in_one_record_are_broken() -> None:
    first, second = client_hello("docs.example.org")[5:], client_hello("evil.example.org")[5:]
    assert read_hello(record(first + second)) == read_hello(record(first + b"\1")) == Hello("broken")


def test_a_server_that_asks_for_another_client_hello_is_understood() -> None:
    assert asks_again(RETRY) is True
    assert asks_again(split(RETRY, 5)) is True
    assert {asks_again(RETRY[:end]) for end in range(len(RETRY))} == {None}
    assert asks_again(server_hello(bytes(32)) + b"more") is False
    warning = record(b"\1\x70", 21)
    assert asks_again(warning + RETRY) is True
    assert asks_again(warning + server_hello(bytes(32))) is False
    assert asks_again(warning) is asks_again(warning[:3]) is None
    assert asks_again(warning * 20_000) is False
    assert asks_again(b"SSH-2.0-x\r\n") is asks_again(b"\x16\3\3\0\0") is False


def test_records_before_a_second_client_hello_are_told_from_it() -> None:
    change = record(b"\1", 20)
    assert other_record(change + client_hello("docs.example.org")) == len(change)
    assert other_record(client_hello("docs.example.org")) == 0
    assert {other_record(change[:end]) for end in range(len(change))} == {None}


@given(st.binary(max_size=300))
def test_nothing_makes_it_raise(rest: bytes) -> None:
    read_hello(b"\x16\3\1" + rest)
    asks_again(b"\x16\3\1" + rest)
    other_record(rest)
