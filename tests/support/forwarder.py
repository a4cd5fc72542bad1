"""Loopback servers that stand before another one: with TLS, or as an HTTP proxy that makes tunnels."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

_REFUSED = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


class Forwarder:
    """Passes every connection on to 127.0.0.1:`port`, after TLS with `tls` and after a CONNECT with `tunnel`.

    `connects` are the lines that asked for tunnels, `heads` all that came with them; with `refuse` none is made.
    """

    def __init__(
        self, port: int, *, tls: ssl.SSLContext | None = None, tunnel: bool = False, refuse: bool = False
    ) -> None:
        self._target = ("127.0.0.1", port)
        self._tls, self._tunnel, self._refuse = tls, tunnel, refuse
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.connects: list[str] = []
        self.heads: list[str] = []
        self._start(self._serve)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def origin(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    def close(self) -> None:
        _shut(self._listener)
        with self._lock:
            for connection in self._open:
                _shut(connection)
        for thread in self._threads:
            thread.join(5)
        self._listener.close()
        for connection in self._open:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, name="process_request_thread (forwarder)")
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._keep(connection)
            self._start(self._converse, connection)

    def _converse(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection = self._keep(self._tls.wrap_socket(connection, server_side=True))
            if self._tunnel and not self._opened(connection):
                return
            with socket.create_connection(self._target) as server:
                self._keep(server)
                self._start(_pass_on, server, connection)
                _pass_on(connection, server)
        except OSError:
            _shut(connection)

    def _opened(self, connection: socket.socket) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            data = connection.recv(4096)
            if not data:
                return False
            head += data
        self.connects.append(head.decode().splitlines()[0])
        self.heads.append(head.decode())
        connection.sendall(_REFUSED if self._refuse else b"HTTP/1.1 200 Connection established\r\n\r\n")
        return not self._refuse

    def _keep(self, connection: socket.socket) -> socket.socket:
        with self._lock:
            self._open.append(connection)
        return connection


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    _shut(target)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
