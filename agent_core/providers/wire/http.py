"""HTTP connections whose blocked reads another thread can end: the transport under all requests to models."""

from __future__ import annotations

import socket
import ssl
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

import httpcore2
import httpx2

from agent_core.providers.wire.abort import Abort, current_abort
from agent_core.providers.wire.connecting import Resolver, connect
from agent_core.providers.wire.proxies import proxy_mounts
from agent_core.providers.wire.tracked_stream import READ_TIMEOUT, TrackedStream
from agent_core.providers.wire.trust import trusted_certificates

__all__ = ["CONNECT_TIMEOUT", "READ_TIMEOUT", "Abort", "make_client"]

CONNECT_TIMEOUT = 15.0
# No bound on connections: a turn that waits for one could not be cancelled.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)


def make_client(
    headers: dict[str, str] | None = None, ca_bundle: str | None = None, *, base_url: str = ""
) -> httpx2.Client:
    """A client for one model server: proxies and CAs from the environment, no redirects, interruptible.

    Args:
        ca_bundle: a file or directory with the certificates to trust, before what the environment says.
        base_url: where all requests go, if that is known.

    Raises:
        ProviderConnectionError: a proxy or a CA that is named cannot be used.
    """
    trust = _trust_in_nobody() if _is_in_the_clear(base_url) else trusted_certificates(ca_bundle)
    return httpx2.Client(
        transport=_transport(trust),
        mounts=proxy_mounts(lambda proxy: _transport(trust, proxy), trust),
        headers=headers,
        timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        follow_redirects=False,
        verify=trust,
        trust_env=False,
    )


def _is_in_the_clear(base_url: str) -> bool:
    return base_url.startswith("http://") and not urllib.request.getproxies()


def _trust_in_nobody() -> ssl.SSLContext:
    """Refuses every server. A model on this machine needs no certificates, which are 4 MB and 20 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _transport(trust: ssl.SSLContext, proxy: httpx2.Proxy | None = None) -> httpx2.HTTPTransport:
    transport = httpx2.HTTPTransport(verify=trust, proxy=proxy, limits=_LIMITS)
    # The pool has no public way in; without it requests still work, but a cancel waits for the server.
    pool: Any = getattr(transport, "_pool", None)
    inner = getattr(pool, "_network_backend", None)
    if inner is not None:
        pool._network_backend = _TrackedBackend(inner, to_proxy=proxy is not None)  # noqa: SLF001
    return transport


class UnknownHost(httpcore2.ConnectError):
    """The host's name was not found. (The pool cuts the chain of causes: the class alone arrives.)"""


class _TrackedBackend(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend, *, to_proxy: bool) -> None:
        self._inner = inner
        self._to_proxy = to_proxy
        self._resolver = Resolver()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream_over = _plain_stream()
        try:
            if stream_over is None:
                return TrackedStream(self._inner.connect_tcp(host, port, timeout, local_address, socket_options))
            return TrackedStream(stream_over(self._connected(host, port, timeout, local_address, socket_options)))
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as problem:
            if self._to_proxy:
                raise httpcore2.ProxyError(f"the proxy {host}:{port}: {problem}") from problem
            raise

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.NetworkStream:
        return TrackedStream(self._inner.connect_unix_socket(path, timeout, socket_options))

    def _connected(
        self, host: str, port: int, timeout: float | None, local_address: str | None, options: Iterable[Any] | None
    ) -> socket.socket:
        abort = current_abort()
        source = None if local_address is None else (local_address, 0)
        last: OSError = OSError(f"{host} has no address")
        try:
            for address in self._resolver.addresses(host, port, timeout, abort):
                try:
                    return connect(address, timeout, abort, source, options or ())
                except OSError as problem:
                    last = problem
        except OSError as problem:
            last = problem
        raise _kind(last)(str(last)) from last


def _kind(problem: OSError) -> type[Exception]:
    if isinstance(problem, TimeoutError):
        return httpcore2.ConnectTimeout
    unknown = isinstance(problem, socket.gaierror) or isinstance(problem.__cause__, socket.gaierror)
    return UnknownHost if unknown else httpcore2.ConnectError


def _plain_stream() -> Callable[[socket.socket], httpcore2.NetworkStream] | None:
    """The library's own stream over a socket; None where it is not found: then a cancel waits for the connection."""
    try:
        from httpcore2._backends.sync import SyncStream  # noqa: PLC0415 - no public name; it may move
    except ImportError:
        return None
    return SyncStream
