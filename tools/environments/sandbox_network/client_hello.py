"""Whom a TLS client asks for: the server name in its client hello (RFC 8446, RFC 6066, RFC 9849)."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass

MOST_BYTES = 64 * 1024
"""How much of a connection is looked at: no client's first message is as long."""

_RECORD, _HELLO, _SERVER_HELLO, _SERVER_NAME, _HOST = 22, 1, 2, 0, 0
_BEFORE_HELLO = frozenset({20, 21})  # a change of ciphers, an alert
# Encrypted Client Hello, and the draft before it that encrypted the name alone.
_HIDING = frozenset({0xFE0D, 0xFFCE})
_MAJOR = 3
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_VERSION_AND_RANDOM = 34
# The random value of a server's hello that asks for another client hello: HelloRetryRequest (RFC 8446, 4.1.3).
_AGAIN = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")


@dataclass(frozen=True, slots=True)
class Hello:
    """How a connection begins.

    Attributes:
        kind: `more` bytes are needed; `plain` is no TLS; `broken` begins like TLS and cannot be read; `tls`.
        name: in lower case; '' where the client names none.
        hides: it may name another host in a part that is encrypted.
        size: of the first message, in bytes of the connection.
    """

    kind: Literal["more", "plain", "broken", "tls"]
    name: str = ""
    hides: bool = False
    size: int = 0


class _Short(Exception):
    """There is less than the message says."""


def read_hello(data: bytes) -> Hello:
    """Look at the first bytes of a connection."""
    if not data:
        return Hello("more")
    if data[0] != _RECORD or (len(data) > 1 and data[1] != _MAJOR):
        return Hello("plain")
    try:
        message, size = _first_message(data)
    except _Short:
        return Hello("more" if len(data) < MOST_BYTES else "broken")
    except ValueError:
        return Hello("broken")
    # A server could take what else is in its records for another client hello.
    if message[0] != _HELLO or len(message) != _MESSAGE_HEAD + int.from_bytes(message[1:4]):
        return Hello("broken")
    try:
        return Hello("tls", *_named(message[_MESSAGE_HEAD:]), size)
    except (_Short, UnicodeDecodeError, ValueError):
        return Hello("broken")


def asks_again(data: bytes) -> bool | None:
    """Whether a server, by the first bytes from it, asks for another client hello; None: more are needed."""
    undecided = None if len(data) < MOST_BYTES else False
    while data and data[0] in _BEFORE_HELLO:
        if (size := other_record(data)) is None:
            return undecided
        data = data[size:]
    if data and data[0] != _RECORD:
        return False
    try:
        message, _ = _first_message(data)
    except _Short:
        return undecided
    except ValueError:
        return False
    return message[0] == _SERVER_HELLO and message[_MESSAGE_HEAD + 2 : _MESSAGE_HEAD + _VERSION_AND_RANDOM] == _AGAIN


def other_record(data: bytes) -> int | None:
    """The bytes of the first record, where it is none of a handshake; 0 where it is one; None: more are needed."""
    if data and data[0] == _RECORD:
        return 0
    size = _RECORD_HEAD + int.from_bytes(data[3:_RECORD_HEAD])
    return size if len(data) >= size else None


def _first_message(data: bytes) -> tuple[bytes, int]:
    """The first message of a handshake with what follows in its records, and the bytes that these take.

    Raises:
        _Short: more are needed. ValueError: it is none.
    """
    message = bytearray()
    rest = data
    while len(message) < _MESSAGE_HEAD or len(message) < _MESSAGE_HEAD + int.from_bytes(message[1:4]):
        length = int.from_bytes(rest[3:_RECORD_HEAD])
        if len(rest) < _RECORD_HEAD or len(rest) < _RECORD_HEAD + length:
            raise _Short
        if rest[0] != _RECORD or not length:
            raise ValueError("a record that is no part of a handshake")
        message += rest[_RECORD_HEAD : _RECORD_HEAD + length]
        rest = rest[_RECORD_HEAD + length :]
    return bytes(message), len(data) - len(rest)


def _named(hello: bytes) -> tuple[str, bool]:
    """The host that the message names, and whether it may hide another."""
    rest = hello[_VERSION_AND_RANDOM:]
    for size in (1, 2, 1):  # the session, the cipher suites, the compression methods
        _, rest = _vector(rest, size)
    if not rest:
        return "", False
    extensions, _ = _vector(rest, 2)
    names: list[str] = []
    hides = False
    while extensions:
        kind = int.from_bytes(extensions[:2])
        body, extensions = _vector(extensions[2:], 2)
        if kind == _SERVER_NAME:
            names.append(_only_host(body))
        hides |= kind in _HIDING
    if len(names) > 1:
        raise ValueError("several server names")
    return (names[0] if names else ""), hides


def _only_host(body: bytes) -> str:
    entries, rest = _vector(body, 2)
    host, more = _vector(entries[1:], 2)
    if rest or more or entries[:1] != bytes([_HOST]):
        raise ValueError("not one name")
    return host.decode("ascii").lower().removesuffix(".")


def _vector(data: bytes, size: int) -> tuple[bytes, bytes]:
    """What stands behind its length of `size` bytes, and the rest."""
    length = int.from_bytes(data[:size])
    if len(data) < size + length:
        raise _Short
    return data[size : size + length], data[size + length :]
