"""A response's body, unpacked bit by bit, so that a few bytes cannot become more than is allowed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Protocol

from tools.ports import WebError

ACCEPTED = "gzip, deflate"
_CHUNK = 64 * 1024
_MIB = 1024 * 1024
_GZIP = 16 + zlib.MAX_WBITS


class _Unpacker(Protocol):
    def add(self, data: bytes, room: int) -> bytes:
        """Unpack; more than `room` bytes where there are more."""
        ...

    def is_whole(self) -> bool:
        """Whether nothing is missing at the end, as far as can be told."""
        ...


def read_body(parts: Iterable[bytes], headers: Mapping[str, str], max_bytes: int, url: str) -> bytes:
    """The whole body.

    Args:
        headers: of the response, names in lower case.
        max_bytes: for what is sent, and for what it unpacks to.

    Raises:
        WebError: it is longer, or packed in a way that was not offered, or broken.
    """
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise _too_big(url, f"has {int(declared) / _MIB:.1f} MiB", max_bytes)
    unpacker = _unpacker(headers.get("content-encoding", "").strip().lower(), url)
    body, sent = bytearray(), 0
    for part in parts:
        sent += len(part)
        try:
            body += unpacker.add(part, max_bytes - len(body))
        except zlib.error as problem:
            raise WebError(f"{url} sent compressed data that is broken ({problem}).", "answer") from problem
        if sent > max_bytes or len(body) > max_bytes:
            raise _too_big(url, "is larger", max_bytes)
    if not unpacker.is_whole():
        raise WebError(f"{url} broke off in the middle of its compressed content. Try again later.", "answer")
    return bytes(body)


class _AsItIs:
    def add(self, data: bytes, room: int) -> bytes:  # noqa: ARG002 - no part is longer than what was sent
        return data

    def is_whole(self) -> bool:
        return True  # a length that was promised is watched where the parts are read


class _Zlib:
    """gzip (several members too), and deflate with or without zlib's header."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window)
        self._is_first = True
        self._is_inside = False

    def add(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        while data and len(out) <= room:
            out += self._some(data)
            data = self._stream.unconsumed_tail
            self._is_inside = not self._stream.eof
            if self._stream.eof:
                data = self._stream.unused_data.lstrip(b"\0")
                self._stream = zlib.decompressobj(self._window)
        return bytes(out)

    def is_whole(self) -> bool:
        return not self._is_inside

    def _some(self, data: bytes) -> bytes:
        try:
            return self._stream.decompress(data, _CHUNK)
        except zlib.error:
            if not self._is_first or self._window == _GZIP:
                raise
            self._window = -zlib.MAX_WBITS
            self._stream = zlib.decompressobj(self._window)
            return self._stream.decompress(data, _CHUNK)
        finally:
            self._is_first = False


def _unpacker(encoding: str, url: str) -> _Unpacker:
    match encoding:
        case "" | "identity":
            return _AsItIs()
        case "gzip" | "x-gzip":
            return _Zlib(_GZIP)
        case "deflate":
            return _Zlib(zlib.MAX_WBITS)
    raise WebError(f"{url} sent its content packed as {encoding[:40]!r}, which was not offered to it.", "answer")


def _too_big(url: str, what: str, max_bytes: int) -> WebError:
    return WebError(
        f"{url} {what}; at most {max_bytes / _MIB:g} MiB are taken. Download it with the terminal (curl -o) and read "
        "the part that you need.",
        "size",
    )
