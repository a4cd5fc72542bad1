"""A loopback server that sends exactly these bytes: for answers that no decent server gives."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class RawRequest:
    """The request line, the whole head and the JSON body of one request."""

    line: str
    head: str
    body: Any


def event_stream(*payloads: Any, ended: bool = True, content_type: str = "text/event-stream") -> bytes:
    """An answer whose events are `payloads` (JSON values, or raw bytes for the stream). `ended`: with its end."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    body = b"".join(_http_chunk(_event(payload)) for payload in payloads)
    return head + body + (b"0\r\n\r\n" if ended else b"")


class RawServer:
    """Answers each request with `answer` and keeps the connection open; with None it reads and stays silent."""

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._stopping = False
        self.requests: list[RawRequest] = []
        self.heard = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="raw-server")
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._stopping = True
        # Closing a socket does not wake the thread that waits on it.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _serve(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            with connection, contextlib.suppress(OSError):
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        received = b""
        while data := connection.recv(65536):
            received += data
            self.heard.set()
            head, mark, body = received.partition(b"\r\n\r\n")
            if self._answer is None or not mark or len(body) < _length(head):
                continue
            text = head.decode("latin-1")
            self.requests.append(RawRequest(text.splitlines()[0], text, json.loads(body)))
            received = b""
            connection.sendall(self._answer)


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def _event(payload: Any) -> bytes:
    return payload if isinstance(payload, bytes) else b"data: " + json.dumps(payload).encode() + b"\n\n"


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
