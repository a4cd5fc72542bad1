"""HTTP connections whose blocked reads another thread can end: the transport under the model SDKs' clients."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any, cast

import httpcore2
import httpx2

from agent_core.errors import ProviderConnectionError

CONNECT_TIMEOUT = 15.0
READ_TIMEOUT = 600.0


class Abort:
    """Ends one request, whatever it waits for. Used by the requesting thread and by whoever cancels."""

    def __init__(self, patience: float | None = None) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.done = False
        self.patience = patience
        """Seconds that a read may wait; None leaves it to the client."""

    def abort(self) -> None:
        """Shut the request's connection down; a read that waits on it fails at once."""
        with self._lock:
            self.done = True
            used, self._socket = self._socket, None
        if used is not None:
            _shut_down(used)

    def uses(self, used: socket.socket) -> None:
        """The request now reads from or writes to the connection of this socket.

        Raises:
            httpcore2.ReadError: the request was given up.
        """
        with self._lock:
            if self.done:
                raise httpcore2.ReadError("the request was given up")
            self._socket = used

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Network work of this thread, inside the block, belongs to this request."""
        _current.abort = self
        try:
            yield
        finally:
            _current.abort = None
            # The connection may serve another request now, which a late abort must not end.
            with self._lock:
                self._socket = None


class _Current(threading.local):
    abort: Abort | None = None


_current = _Current()


def make_client(headers: dict[str, str] | None = None) -> httpx2.Client:
    """A client for one model server: proxies from the environment, no redirects, interruptible.

    Raises:
        ProviderConnectionError: a proxy that the environment names cannot be used.
    """
    return httpx2.Client(
        transport=_transport(),
        mounts=_proxies(),
        headers=headers,
        timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        follow_redirects=False,
    )


def _transport(proxy: str | None = None) -> httpx2.HTTPTransport:
    transport = httpx2.HTTPTransport(proxy=proxy)
    # The pool has no public way in; without it requests still work, but a cancel waits for the server.
    pool: Any = getattr(transport, "_pool", None)
    inner = getattr(pool, "_network_backend", None)
    if inner is not None:
        pool._network_backend = _TrackedBackend(inner)  # noqa: SLF001
    return transport


def _proxies() -> dict[str, httpx2.BaseTransport | None]:
    found = urllib.request.getproxies()
    mounts: dict[str, httpx2.BaseTransport | None] = {}
    for scheme in ("http", "https", "all"):
        if url := found.get(scheme):
            try:
                mounts[f"{scheme}://"] = _transport(url if "://" in url else f"http://{url}")
            except (ImportError, ValueError, httpx2.InvalidURL) as problem:  # SOCKS, or no proxy's address at all
                raise ProviderConnectionError(
                    f"The proxy in the environment's {scheme}_proxy cannot be used: give the address of an HTTP "
                    "proxy (http://HOST:PORT), or unset the variable."
                ) from problem
    if not mounts:
        return {}
    for host in ("localhost", "127.0.0.1", "[::1]", *_bypassed(found.get("no", ""))):
        mounts[f"all://{host}"] = None
    return mounts


def _bypassed(no_proxy: str) -> Iterator[str]:
    for host in (part.strip() for part in no_proxy.split(",")):
        if host == "*":
            yield "*"
        elif host:
            yield f"*{host}" if host.startswith(".") else host
            if not host.startswith(".") and not host[0].isdigit():
                yield f"*.{host}"


class _TrackedStream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        _mark(_socket_of(self._inner))
        abort = _current.abort
        if abort is not None and abort.patience is not None:
            timeout = abort.patience
        return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        _mark(_socket_of(self._inner))
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        # The handshake takes the socket's descriptor over: a second one keeps the way to end it.
        with socket.socket(fileno=os.dup(_socket_of(self._inner).fileno())) as spare:
            _mark(spare)
            return _TrackedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _TrackedBackend(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _TrackedStream(stream)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.NetworkStream:
        return _TrackedStream(self._inner.connect_unix_socket(path, timeout, socket_options))


def _socket_of(stream: httpcore2.NetworkStream) -> socket.socket:
    return cast("socket.socket", stream.get_extra_info("socket"))


def _mark(used: socket.socket) -> None:
    abort = _current.abort
    if abort is not None:
        abort.uses(used)


def _shut_down(used: socket.socket) -> None:
    # The plain socket's shutdown: the TLS one would take the session from under the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(used, socket.SHUT_RDWR)
