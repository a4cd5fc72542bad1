"""The head of a request to the proxy, read strictly: what two readers could take for different things is refused."""

from __future__ import annotations

import re

from tools.environments.sandbox_network.hosts import host_name
from tools.light_dataclass import dataclass

MOST_HEAD = 64 * 1024
"""Bytes of a head; a longer one is refused."""

_LINE = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00\r\n]*?)[ \t]*")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#]+)(?::([0-9]{1,5}))?", re.ASCII)
_ABSOLUTE = re.compile(r"http://([^/?#]*)(.*)", re.IGNORECASE | re.ASCII)
_HOP = frozenset(
    {
        b"connection",
        b"expect",
        b"host",
        b"keep-alive",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    }
)
_LAST_PORT = 65_535
_HTTP = 80

Fields = tuple[tuple[bytes, bytes], ...]


class BadRequest(ValueError):
    """The request is none that a proxy can serve; the message is for the program."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        host: as `host_name` has it.
        path: as it is sent to the server; b"" for a tunnel.
        fields: names in lower case, those left out that are meant for the proxy, and the host.
        body: how many bytes follow; None if they come in chunks.
        authorization: what the program tells the proxy of itself.
    """

    method: bytes
    host: str
    port: int
    path: bytes
    fields: Fields
    body: int | None
    authorization: bytes
    expects: bool

    @property
    def is_tunnel(self) -> bool:
        """Whether it asks for a connection (CONNECT)."""
        return self.method == b"CONNECT"


def read_request(head: bytes) -> Request:
    """Read a head, with the empty line at its end.

    Raises:
        BadRequest.
    """
    if len(head) > MOST_HEAD:
        raise BadRequest(f"The request's head is longer than {MOST_HEAD} bytes.")
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if not (line := _LINE.fullmatch(first)):
        raise BadRequest("This is an HTTP proxy: its requests are «METHOD URL HTTP/1.1».")
    fields = tuple(_field(each) for each in lines)
    method, target = line[1], line[2].decode("ascii")
    if method == b"CONNECT":
        host, port = _authority(target, None)
        path = b""
    elif absolute := _ABSOLUTE.fullmatch(target):
        host, port = _authority(absolute[1], _HTTP)
        path = absolute[2].encode("ascii")
        path = path if path.startswith(b"/") else b"/" + path
    else:
        raise BadRequest("This is an HTTP proxy: it is asked for http://HOST/PATH, or with CONNECT for HOST:PORT.")
    named = {
        name for value in _values(fields, b"connection") for name in value.lower().replace(b" ", b"").split(b",")
    }
    kept = tuple((name, value) for name, value in fields if name not in _HOP and name not in named - _FRAMING)
    authorization = next(iter(_values(fields, b"proxy-authorization")), b"")
    return Request(
        method, host, port, path, kept, _body(fields), authorization, expects=bool(_values(fields, b"expect"))
    )


def without_hop(fields: Fields) -> bytes:
    """The lines of an answer's fields, without those that were meant for the proxy."""
    return b"".join(name + b": " + value + b"\r\n" for name, value in fields if name not in _HOP)


def read_fields(head: bytes) -> tuple[bytes, Fields]:
    """The first line of an answer's head, and its fields.

    Raises:
        BadRequest.
    """
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    return first, tuple(_field(line) for line in lines)


_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


def _field(line: bytes) -> tuple[bytes, bytes]:
    if not (found := _FIELD.fullmatch(line)):
        raise BadRequest("A line of the request's head is not «NAME: VALUE».")
    return found[1].lower(), found[2]


def _values(fields: Fields, name: bytes) -> list[bytes]:
    return [value for key, value in fields if key == name]


def _authority(text: str, port: int | None) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    number = int(found[2]) if found and found[2] else port
    if not found or number is None or not 0 < number <= _LAST_PORT:
        raise BadRequest(f"{text[:100]!r} is not HOST:PORT (without a user name or a password).")
    try:
        return host_name(found[1]), number
    except ValueError as problem:
        raise BadRequest(f"{problem}.") from problem


def _body(fields: Fields) -> int | None:
    lengths, codings = set(_values(fields, b"content-length")), _values(fields, b"transfer-encoding")
    if codings:
        if lengths or [value.lower() for value in codings] != [b"chunked"]:
            raise BadRequest("The length of the request's body is told in two ways, or in one that is not known.")
        return None
    if not lengths:
        return 0
    (length, *others) = lengths
    if others or not length.isdigit() or len(length) > 18:  # noqa: PLR2004
        raise BadRequest("The Content-Length of the request is not one number.")
    return int(length)
