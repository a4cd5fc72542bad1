"""A connection to a model's server, under the HTTP library: a wait can be ended, a body be read past the library."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from typing import Any, cast

import httpcore2
import httpx2

from agent_core.providers.wire.abort import current_abort
from agent_core.providers.wire.chunked_body import AnswerHead, ChunkedBody

READ_TIMEOUT = 600.0
_READ_BYTES = 64 * 1024


class TrackedStream(httpcore2.NetworkStream):
    """Tells the abort of the request that it works for which socket it uses."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner
        self._head = AnswerHead()
        self._left = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What is there, for the library: as much of it as belongs to the head, if chunks follow."""
        if self._left:
            data, self._left = self._left, b""
            return data
        data = self._receive(max_bytes, timeout)
        if self._head.is_over:
            return data
        end = self._head.feed(data)
        self._left = data[end:]
        return data[:end]

    def pieces(self) -> Iterator[bytes]:
        """What the chunks of a body hold that the library has not begun to read; nothing of another body.

        Where this ends, the library has the rest to read: the end of the body, or what is wrong with it.

        Raises:
            httpcore2.NetworkError, httpcore2.TimeoutException: as its own reading does.
        """
        if not self._head.in_chunks:
            return
        self._head.in_chunks = False
        body = ChunkedBody()
        data, self._left = self._left, b""
        while True:
            if piece := body.feed(data):
                yield piece
            if body.rest is not None:
                self._left = body.rest
                return
            data = self._receive(_READ_BYTES, READ_TIMEOUT)
            if not data:
                return

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a part of a request."""
        mark(socket_of(self._inner))
        self._head = AnswerHead()  # of the answer to what is sent
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        """End the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """The same connection, encrypted."""
        # The handshake takes the socket's descriptor over: a second one keeps the way to end it.
        with socket.socket(fileno=os.dup(socket_of(self._inner).fileno())) as spare:
            mark(spare)
            return TrackedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What the library's stream tells of itself."""
        return self._inner.get_extra_info(info)

    def _receive(self, max_bytes: int, timeout: float | None) -> bytes:
        mark(socket_of(self._inner))
        abort = current_abort()
        if abort is None:
            return self._inner.read(max_bytes, timeout)
        return abort.wait(lambda seconds: self._inner.read(max_bytes, seconds), timeout)


def body_pieces(response: httpx2.Response) -> Iterator[bytes]:
    """The body, decoded, in pieces as large as they are read.

    Raises:
        httpcore2.NetworkError, httpcore2.TimeoutException, httpx2.TransportError: it could not be read to its end.
    """
    stream = response.extensions.get("network_stream")
    if isinstance(stream, TrackedStream) and "content-encoding" not in response.headers:
        yield from stream.pieces()
    yield from response.iter_bytes()


def socket_of(stream: httpcore2.NetworkStream) -> socket.socket:
    """The socket under a stream."""
    return cast("socket.socket", stream.get_extra_info("socket"))


def mark(used: socket.socket) -> None:
    """This thread's request now uses `used`."""
    abort = current_abort()
    if abort is not None:
        abort.uses(used)
