"""HTTP connections to model servers: certificates, proxies, bodies, and reads that another thread can end."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import os
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpcore2
import httpx2

from agent_core.errors import ProviderConnectionError
from tools.environments.http_connect import LookUp, awaited, connected, look_up
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass

__all__ = ["CONNECT_TIMEOUT", "READ_TIMEOUT", "Abort", "make_client"]


# Ending a request from another thread, whatever its own thread waits for.

_GIVEN_UP = "the request was given up"


class Abort:
    """Ends one request, whatever it waits for. Used by the requesting thread and by whoever cancels."""

    def __init__(self, patience: float | None = None) -> None:
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self.done = False
        self.patience = patience
        """Seconds in which something has to be `heard`, in one read or in many; None leaves it to the client."""
        self._waited = 0.0

    def heard(self) -> None:
        """Something of the answer has come: bytes alone are nothing, servers send them to keep a connection open."""
        self._waited = 0.0

    def wait(self, read: Callable[[float | None], bytes], timeout: float | None) -> bytes:
        """What `read` gets within the time that is left; `timeout` where there is no patience to be lost.

        Raises:
            httpcore2.ReadTimeout: there is none left.
        """
        if self.patience is None:
            return read(timeout)
        if self._waited >= self.patience:
            raise httpcore2.ReadTimeout("nothing of an answer came")
        began = time.monotonic()
        try:
            return read(self.patience - self._waited)
        finally:
            self._waited += time.monotonic() - began

    def abort(self) -> None:
        """Shut the request's connection down; a read that waits on it fails at once."""
        # Woken under the lock: whoever waits cannot go on and close what is woken here.
        with self._lock:
            self.done = True
            wake, self._wake = self._wake, None
            if wake is not None:
                wake()

    def uses(self, used: socket.socket) -> None:
        """The request now reads from or writes to the connection of this socket.

        Raises:
            httpcore2.ReadError: the request was given up.
        """
        self._begin(functools.partial(_shut_down, used))

    def check(self) -> None:
        """Go on only if the request is still wanted.

        Raises:
            httpcore2.ReadError: it was given up.
        """
        if self.done:
            raise httpcore2.ReadError(_GIVEN_UP)

    def is_set(self) -> bool:
        """Whether the request was given up."""
        return self.done

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Until what is returned is called, the request waits for what `callback` ends, which must not block.

        Raises:
            httpcore2.ReadError: the request was given up.
        """
        self._begin(callback)
        return self._forget

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Network work of this thread, inside the block, belongs to this request."""
        _current.abort = self
        try:
            yield
        finally:
            _current.abort = None
            # The connection may serve another request now, which a late abort must not end.
            self._forget()

    def _begin(self, wake: Callable[[], None]) -> None:
        with self._lock:
            if self.done:
                raise httpcore2.ReadError(_GIVEN_UP)
            self._wake = wake

    def _forget(self) -> None:
        with self._lock:
            self._wake = None


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[Abort]:
    """End this thread's HTTP work when it takes longer: a client's own time-outs begin anew with each byte."""
    abort = Abort()
    timer = threading.Timer(seconds, abort.abort)
    timer.daemon = True
    timer.start()
    try:
        with abort.watching():
            yield abort
    finally:
        timer.cancel()


class _Current(threading.local):
    abort: Abort | None = None


_current = _Current()


def _shut_down(used: socket.socket) -> None:
    # The plain socket's shutdown: the TLS one would take the session from under the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(used, socket.SHUT_RDWR)


# Which certificates are trusted: the system's, or those of a CA that the user or the environment names.

_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_ADVICE = "give the path of a PEM file with the CA's certificate, or of a directory that `openssl rehash` prepared"


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    path: str
    changed: int
    """When, so that a file that was put right is read again."""


def trusted_certificates(ca_bundle: str | None = None, environ: Mapping[str, str] | None = None) -> ssl.SSLContext:
    """The TLS settings for model servers; what is named replaces the system's certificates.

    The first of these that is set counts: `ca_bundle`; OpenSSL's own SSL_CERT_FILE and SSL_CERT_DIR, together; and
    REQUESTS_CA_BUNDLE.

    Raises:
        ProviderConnectionError: what is named is not there, or holds no certificate; variable and path are named.
    """
    return _context(_sources(ca_bundle, os.environ if environ is None else environ))


def _sources(ca_bundle: str | None, environ: Mapping[str, str]) -> tuple[_Source, ...]:
    if ca_bundle:
        return (_source("the configured CA bundle", ca_bundle),)
    named = {name: path for name in _VARIABLES if (path := environ.get(name))}
    if "SSL_CERT_FILE" in named and not _directories(named.get("SSL_CERT_DIR", "")):
        return (_source("SSL_CERT_FILE", named["SSL_CERT_FILE"]),)
    if "SSL_CERT_FILE" in named or "SSL_CERT_DIR" in named:
        named.pop("REQUESTS_CA_BUNDLE", None)
    return tuple(_source(name, path) for name, path in named.items())


def _source(name: str, path: str) -> _Source:
    try:
        return _Source(name, path, Path(path).stat().st_mtime_ns)
    except (OSError, ValueError):  # what is wrong is told when it is loaded
        return _Source(name, path, 0)


@functools.lru_cache(maxsize=8)
def _context(sources: tuple[_Source, ...]) -> ssl.SSLContext:
    # Kept: to read hundreds of certificates takes longer than all else that a client needs.
    if not sources:
        return httpx2.create_ssl_context(trust_env=False)
    # Not ssl.create_default_context: it is strict about forms that the CAs of many companies do not keep.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    for source in sources:
        _load(context, source)
    return context


def _load(context: ssl.SSLContext, source: _Source) -> None:
    try:
        for directory in _directories(source.path):
            context.load_verify_locations(capath=directory)
        if not _directories(source.path):
            context.load_verify_locations(cafile=source.path)
    except (OSError, ValueError) as problem:  # SSLError is an OSError; ValueError: no path at all
        missing = isinstance(problem, FileNotFoundError)
        what = "does not exist" if missing else f"cannot be used as certificates ({_reason(problem)})"
        raise ProviderConnectionError(
            f"No secure connection can be made: {source.path}, named by {source.name}, {what}. Set {source.name} "
            f"right: {_ADVICE}.",
            "tls",
        ) from problem


def _directories(paths: str) -> list[str]:
    # OpenSSL takes several, separated as in PATH.
    return [path for path in paths.split(os.pathsep) if Path(path).is_dir()]


def _reason(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        return "it holds no PEM certificate"
    return getattr(problem, "strerror", None) or str(problem)


# A connection to a model's server, under the HTTP library, whose waits can be ended.

READ_TIMEOUT = 600.0
_LONGEST_FRAME = 64
"""Bytes between two chunks of a body, at most, as servers write them."""


class TrackedStream(httpcore2.NetworkStream):
    """Tells the abort of the request that it works for which socket it uses."""

    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner
        self._last, self._given = b"", 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What is there."""
        abort = _current.abort
        if abort is None:
            data = self._inner.read(max_bytes, timeout)
        else:
            abort.uses(self._inner.get_extra_info("socket"))
            data = abort.wait(lambda seconds: self._inner.read(max_bytes, seconds), timeout)
        self._last, self._given = data, 0
        return data

    def has_more_behind(self, piece: bytes) -> bool:
        """Whether more was read behind `piece`, which the library has just given: it comes without a wait."""
        place = self._last.find(piece, self._given)
        if place < 0:  # compressed
            return False
        self._given = place + len(piece)
        return len(self._last) - self._given > _LONGEST_FRAME

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a part of a request."""
        if (abort := _current.abort) is not None:
            abort.uses(self._inner.get_extra_info("socket"))
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        """End the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        """The same connection, encrypted."""
        # The handshake takes the socket's descriptor over: a second one keeps the way to end it.
        with socket.socket(fileno=os.dup(self._inner.get_extra_info("socket").fileno())) as spare:
            if (abort := _current.abort) is not None:
                abort.uses(spare)
            return TrackedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What the library's stream tells of itself."""
        return self._inner.get_extra_info(info)


def body_pieces(response: httpx2.Response) -> Iterator[bytes]:
    """The body, decoded, in pieces as large as they are read, however small the chunks are that it comes in.

    Raises:
        httpcore2.NetworkError, httpcore2.TimeoutException, httpx2.TransportError: it could not be read to its end.
    """
    stream = response.extensions.get("network_stream")
    held: list[bytes] = []
    try:
        for piece in response.iter_bytes():
            held.append(piece)
            if not isinstance(stream, TrackedStream) or not stream.has_more_behind(piece):
                yield b"".join(held)
                held.clear()
    except Exception:  # what came before counts
        yield b"".join(held)
        raise
    yield b"".join(held)


# HTTP connections whose blocked reads another thread can end: the transport under all requests to models.

CONNECT_TIMEOUT = 15.0
# Never reached through a proxy.
_THIS_MACHINE = ("all://localhost", "all://127.0.0.0/8", "all://[::1]")
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
    try:
        client = httpx2.Client(
            mounts=dict.fromkeys(_THIS_MACHINE),
            headers=headers,
            timeout=httpx2.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
            limits=_LIMITS,
            follow_redirects=False,
            verify=trust,
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as problem:  # SOCKS, or no proxy's address at all
        named = " or ".join(f"{scheme}_proxy" for scheme in urllib.request.getproxies() if scheme != "no")
        raise ProviderConnectionError(
            f"The proxy in the environment's {named} cannot be used: give the address of an HTTP proxy "
            "(http://HOST:PORT), or unset the variable.",
            "proxy",
        ) from problem
    # None of these has a public name; without them requests still work, but a cancel waits for the server.
    for transport in (getattr(client, "_transport", None), *getattr(client, "_mounts", {}).values()):
        _track(getattr(transport, "_pool", None), trust)
    return client


def _is_in_the_clear(base_url: str) -> bool:
    return base_url.startswith("http://") and not urllib.request.getproxies()


def _trust_in_nobody() -> ssl.SSLContext:
    """Refuses every server. A model on this machine needs no certificates, which are 4 MB and 20 ms."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _track(pool: Any, trust: ssl.SSLContext) -> None:
    to_proxy = isinstance(pool, httpcore2.HTTPProxy)
    if to_proxy:
        pool._proxy_ssl_context = trust  # noqa: SLF001 - of use where the proxy itself speaks TLS
    inner = getattr(pool, "_network_backend", None)
    if inner is not None:
        pool._network_backend = _TrackedBackend(inner, to_proxy=to_proxy)  # noqa: SLF001


class UnknownHost(httpcore2.ConnectError):
    """The host's name was not found. (The pool cuts the chain of causes: the class alone arrives.)"""


class _TrackedBackend(httpcore2.NetworkBackend):
    def __init__(self, inner: httpcore2.NetworkBackend, *, to_proxy: bool) -> None:
        self._inner = inner
        self._to_proxy = to_proxy

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
        abort = _current.abort
        source = None if local_address is None else (local_address, 0)
        last: OSError = OSError(f"{host} has no address")
        try:
            for address in addresses(host, port, timeout, abort):
                try:
                    return connected(address, port, timeout, abort, source=source, options=options or ())
                except OSError as problem:
                    last = problem
        except OSError as problem:
            last = problem
        except ToolInterrupted as problem:
            raise httpcore2.ReadError("the request was given up") from problem
        raise _kind(last)(str(last)) from last


def addresses(
    host: str, port: int, timeout: float | None, abort: Abort | None, find: LookUp = look_up
) -> Sequence[str]:
    """The addresses of `host`; an abort or a time limit ends the wait, though not the system's own look-up.

    Raises:
        OSError: there is none; TimeoutError: it took too long. ToolInterrupted, httpcore2.ReadError: given up.
    """
    if abort is None or host == "localhost" or _is_address(host):
        return find(host, port)
    try:
        return awaited(lambda: find(host, port), abort, "name look-up", timeout)
    except UnicodeError as problem:  # no name of a host can look like this
        raise OSError(f"no such host: {problem}") from problem


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


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
