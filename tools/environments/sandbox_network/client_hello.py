"""The name that a TLS client asks for: the server name indication of its first message (RFC 8446, RFC 6066)."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass

MOST_BYTES = 64 * 1024
"""How much of a connection is looked at: no client's first message is as long."""

_RECORD, _HELLO, _SERVER_NAME, _HOST = 22, 1, 0, 0
_MAJOR = 3
_RECORD_HEAD, _MESSAGE_HEAD = 5, 4
_VERSION_AND_RANDOM = 34


@dataclass(frozen=True, slots=True)
class Hello:
    """How a connection begins.

    Attributes:
        kind: `more` bytes are needed; `plain` is no TLS; `broken` begins like TLS and cannot be read; `tls`.
        name: in lower case; '' where the client names none.
    """

    kind: Literal["more", "plain", "broken", "tls"]
    name: str = ""


class _Short(Exception):
    """There is less than the message says."""


def read_hello(data: bytes) -> Hello:
    """Look at the first bytes of a connection."""
    if not data:
        return Hello("more")
    if data[0] != _RECORD or (len(data) > 1 and data[1] != _MAJOR):
        return Hello("plain")
    message = bytearray()
    rest = data
    while len(message) < _MESSAGE_HEAD or len(message) < _MESSAGE_HEAD + int.from_bytes(message[1:4]):
        length = int.from_bytes(rest[3:_RECORD_HEAD])
        if len(rest) < _RECORD_HEAD or len(rest) < _RECORD_HEAD + length:
            return Hello("more" if len(data) < MOST_BYTES else "broken")
        if rest[0] != _RECORD or not length:
            return Hello("broken")
        message += rest[_RECORD_HEAD : _RECORD_HEAD + length]
        rest = rest[_RECORD_HEAD + length :]
    if message[0] != _HELLO:
        return Hello("broken")
    try:
        return Hello("tls", _name(bytes(message[_MESSAGE_HEAD : _MESSAGE_HEAD + int.from_bytes(message[1:4])])))
    except (_Short, UnicodeDecodeError, ValueError):
        return Hello("broken")


def _name(hello: bytes) -> str:
    rest = hello[_VERSION_AND_RANDOM:]
    for size in (1, 2, 1):  # the session, the cipher suites, the compression methods
        _, rest = _vector(rest, size)
    if not rest:
        return ""
    extensions, _ = _vector(rest, 2)
    names: list[str] = []
    while extensions:
        kind = int.from_bytes(extensions[:2])
        body, extensions = _vector(extensions[2:], 2)
        if kind == _SERVER_NAME:
            names.append(_only_host(body))
    if len(names) > 1:
        raise ValueError("several server names")
    return names[0] if names else ""


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
