"""HTTP connections whose blocked reads another thread can end: the transport under the model SDKs' clients."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any, cast

import httpcore2
import httpx2

CONNECT_TIMEOUT = 15.0
READ_TIMEOUT = 600.0


class Abort:
    """Ends one request, whatever it waits for. Used by the requesting thread and by whoever cancels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: httpcore2.NetworkStream | None = None
        self.done = False

    def abort(self) -> None:
        """Shut the request's connection down; a read that waits on it fails at once."""
        with self._lock:
            self.done = True
            stream, self._stream = self._stream, None
        if stream is not None:
            _shut_down(stream)

    def uses(self, stream: httpcore2.NetworkStream) -> None:
        """The request now reads from or writes to `stream`.

        Raises:
            httpcore2.ReadError: the request was given up.
        """
        with self._lock:
            if self.done:
                raise httpcore2.ReadError("the request was given up")
            self._stream = stream

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Network work of this thread, inside the block, belongs to this request."""
        _current.abort = self
        try:
            yield
        finally:
            _current.abort = None


class _Current(threading.local):
    abort: Abort | None = None


_current = _Current()


def make_client(headers: dict[str, str] | None = None) -> httpx2.Client:
    """A client for one model server: proxies from the environment, no redirects, interruptible."""
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
            mounts[f"{scheme}://"] = _transport(url if "://" in url else f"http://{url}")
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
        self._mark()
        return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._mark()
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        self._mark()
        return _TrackedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _mark(self) -> None:
        abort = _current.abort
        if abort is not None:
            abort.uses(self._inner)


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


def _shut_down(stream: httpcore2.NetworkStream) -> None:
    sock = cast("socket.socket | None", stream.get_extra_info("socket"))
    if sock is None:
        return
    # The plain socket's shutdown: the TLS one would take the session from under the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
