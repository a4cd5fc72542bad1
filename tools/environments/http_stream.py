"""The HTTP library's way to the network: it gets the addresses that were checked, a deadline, and ends with the turn.

Imported only when a request is made: the library takes a tenth of a second.
"""

from __future__ import annotations

import functools
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import httpcore2

from tools.environments.http_connect import Deadline, connect
from tools.errors import ToolInterrupted
from tools.ports import WebError


class CheckedBackend(httpcore2.NetworkBackend):
    """Connects to `addresses` whatever name it is told: the name was looked up once, and this is what was checked."""

    def __init__(self, addresses: Sequence[str], deadline: Deadline) -> None:
        self._addresses = addresses
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the library's signature
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """A stream to the first of the addresses that answers.

        Raises:
            WebError, ToolInterrupted.
        """
        return TimedStream(connect(self._addresses, port, self._deadline), self._deadline)


class TimedStream(httpcore2.NetworkStream):
    """A connection that obeys the request's deadline, and that the end of the turn shuts down."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._socket = connection
        self._deadline = deadline
        # A second descriptor: TLS takes the first one over, and ends with the connection that it is for.
        spare = connection.dup()
        self._spare = spare
        self._forget = deadline.interrupt.on_cancel(functools.partial(_shut_down, spare))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline counts
        """As in the library."""
        with self._told("receiving"):
            self._socket.settimeout(self._deadline.left())
            data = self._socket.recv(max_bytes)
        if not data and self._deadline.interrupt.is_set():
            raise ToolInterrupted
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """As in the library."""
        with self._told("sending"):
            self._socket.settimeout(self._deadline.left())
            self._socket.sendall(buffer)

    def close(self) -> None:
        """As in the library."""
        self._forget()
        self._spare.close()
        self._socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """As in the library; the certificate has to be for the name in the URL."""
        try:
            with self._told("securing"):
                self._socket.settimeout(self._deadline.left())
                self._socket = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except BaseException:
            self.close()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        """As in the library."""
        found: dict[str, Callable[[], Any]] = {
            "ssl_object": lambda: self._socket if isinstance(self._socket, ssl.SSLSocket) else None,
            "socket": lambda: self._socket,
            "is_readable": lambda: False,
        }
        return found[info]() if info in found else None

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        try:
            yield
        except TimeoutError as problem:
            raise self._deadline.missed() from problem
        except OSError as problem:
            if self._deadline.interrupt.is_set():
                raise ToolInterrupted from problem
            raise _broken(doing, problem) from problem


def _broken(doing: str, problem: OSError) -> WebError:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return WebError(
            f"The server's certificate is not trusted: {problem.verify_message}. It may not be the server that it "
            "says it is. (The user can name a CA's certificates with SSL_CERT_FILE.)",
            "tls",
        )
    if isinstance(problem, ssl.SSLError):
        return WebError(f"No secure connection: {problem.reason or problem}. Is it an https server?", "tls")
    return WebError(f"The connection broke while {doing}: {problem.strerror or problem}. Try it again.", "connection")


def _shut_down(used: socket.socket) -> None:
    with suppress(OSError):
        used.shutdown(socket.SHUT_RDWR)
