"""Connections for HTTP: names looked up, addresses checked, proxies, and deadlines that end with the turn."""

from __future__ import annotations

import errno
import functools
import os
import selectors
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, WebError
from tools.web.addresses import Target, inside_by_name

# Waiting for what cannot be interrupted: the wait ends with the turn, and the work goes on without anybody.

T = TypeVar("T")


class Ends(Protocol):
    """The part of an `Interrupt` that ends a wait."""

    def is_set(self) -> bool:
        """Whether nobody waits any more."""
        ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` then; returns what forgets it."""
        ...


def awaited(work: Callable[[], T], interrupt: Ends, name: str, seconds: float | None = None) -> T:
    """What `work` returns or raises, done on a thread of its own.

    Args:
        work: changes nothing that somebody would miss or mind after the wait.
        name: of the thread.

    Raises:
        ToolInterrupted: nobody waits any more. TimeoutError: the time is over.
    """
    found: list[T] = []
    problems: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as problem:  # noqa: BLE001 - raised below, by who waits for it
            problems.append(problem)
        finally:
            done.set()

    forget = interrupt.on_cancel(done.set)
    try:
        threading.Thread(target=run, name=name, daemon=True).start()
        done.wait(seconds)
    finally:
        forget()
    if interrupt.is_set():
        raise ToolInterrupted
    if problems:
        raise problems[0]
    if not found:
        raise TimeoutError(f"the {name} took too long")
    return found[0]


class Deadline:
    """One request's time; what the person takes to answer does not count.

    Args:
        seconds: for everything else together.
        url: for the message.
    """

    def __init__(
        self, seconds: float, url: str, interrupt: Interrupt, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.interrupt = interrupt
        self._seconds = seconds
        self._url = url
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds that are left, more than 0.

        Raises:
            WebError: none. ToolInterrupted: the turn is over.
        """
        if self.interrupt.is_set():
            raise ToolInterrupted
        left = self._end - self._clock()
        if left <= 0:
            raise self.missed()
        return left

    def missed(self) -> Exception:
        """What to raise when the time is over."""
        if self.interrupt.is_set():
            return ToolInterrupted()
        return WebError(
            f"{self._url} did not answer completely within {self._seconds:g} seconds. Try it again later, or another "
            "source.",
            "timeout",
        )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time in here does not count."""
        start = self._clock()
        try:
            yield
        finally:
            self._end += self._clock() - start


# Looking up a name, and connecting to exactly the addresses that were found.

LookUp = Callable[[str, int], Sequence[str]]
"""A host's addresses, as text, in the order of preference; OSError where there is none."""

_IN_PROGRESS = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR}
_PATIENCE = 5.0


def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses that the system finds."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def addresses_of(host: str, port: int, deadline: Deadline, find: LookUp) -> Sequence[str]:
    """The host's addresses, at least one.

    Raises:
        WebError: there is none, or it took too long. ToolInterrupted.
    """
    try:
        found = awaited(lambda: find(host, port), deadline.interrupt, "name look-up", deadline.left())
    except TimeoutError as problem:
        raise deadline.missed() from problem
    except (OSError, UnicodeError) as problem:  # UnicodeError: no name of a host can look like this
        raise WebError(
            f"The host {host} was not found ({problem}). Check the name, or find the page with web_search.",
            "connection",
        ) from problem
    if not found:
        raise WebError(f"The host {host} has no address.", "connection")
    return found


def connect(addresses: Sequence[str], port: int, deadline: Deadline) -> socket.socket:
    """A TCP connection to the first of the addresses that answers.

    Raises:
        WebError: none does. ToolInterrupted.
    """
    problem: OSError = OSError("no address")
    for number, address in enumerate(addresses, 1):
        left = deadline.left()
        try:
            # One address that does not answer must not take the time of those that would.
            most = left if number == len(addresses) else min(left, _PATIENCE)
            return connected(address, port, most, deadline.interrupt)
        except OSError as failure:
            problem = failure
    deadline.left()
    raise WebError(
        f"No connection to {addresses[0]} port {port}: {problem.strerror or problem}. Is the server up?", "connection"
    ) from problem


def connected(
    address: str,
    port: int,
    timeout: float | None,
    interrupt: Ends | None,
    *,
    source: tuple[str, int] | None = None,
    options: Iterable[Any] = (),
) -> socket.socket:
    """A TCP connection without Nagle's delay; `timeout` is in seconds, None waits for the system's own limit.

    Raises:
        OSError: it cannot be made; TimeoutError: it took too long. ToolInterrupted.
    """
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        for option in (*options, (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
            connection.setsockopt(*option)
        if source is not None:
            connection.bind(source)
        connection.setblocking(False)
        code = connection.connect_ex((address, port))
        if code in _IN_PROGRESS:
            _wait_until_connected(connection, timeout, interrupt)
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        _check(code)
        connection.settimeout(timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))


def _wait_until_connected(connection: socket.socket, timeout: float | None, interrupt: Ends | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_WRITE)
        # A shutdown does not wake the poll of a connection in the making on every system; a byte does.
        selector.register(ours, selectors.EVENT_READ)
        forget = interrupt.on_cancel(functools.partial(_send_byte, theirs)) if interrupt is not None else None
        try:
            ready = selector.select(timeout)
        finally:
            if forget is not None:
                forget()
    if interrupt is not None and interrupt.is_set():
        raise ToolInterrupted
    if not ready:
        raise TimeoutError("it did not answer in time")


def _send_byte(wake: socket.socket) -> None:
    with suppress(OSError):
        wake.send(b"\0")


# The HTTP library's way to the network: it gets the addresses that were checked, a deadline, and ends with the turn.
# It has the methods of the library's `NetworkBackend` and `NetworkStream`, and does not load it.


class CheckedBackend:
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
    ) -> TimedStream:
        """A stream to the first of the addresses that answers.

        Raises:
            WebError, ToolInterrupted.
        """
        return TimedStream(connect(self._addresses, port, self._deadline), self._deadline)


class TimedStream:
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
    ) -> TimedStream:
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


# Which proxy a request goes through, as the environment says: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.
# Where there is a proxy, it looks the name up again, so what is checked here cannot bind it: a name that leads inside
# from here is refused, and what leads inside only from there is the proxy's to refuse.

_PORT = 80


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `auth` is user name and password."""

    host: str
    port: int
    auth: tuple[bytes, bytes] | None = field(default=None, repr=False)


def proxy_for(target: Target, found: Mapping[str, str] | None = None) -> Proxy | None:
    """The proxy for `target`; None for a direct connection: always to this machine and to private networks.

    Args:
        found: proxies by scheme as `urllib.request.getproxies` has them; None reads the environment.

    Raises:
        WebError: the proxy cannot be used.
    """
    proxies = urllib.request.getproxies_environment() if found is None else found
    url = proxies.get(target.scheme) or proxies.get("all")
    if not url or inside_by_name(target.host) is not None:
        return None
    if urllib.request.proxy_bypass_environment(f"{target.host}:{target.port}", proxies):  # type: ignore[attr-defined]
        return None
    return _read(url, target.scheme)


def _read(url: str, scheme: str) -> Proxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or _PORT
    except ValueError:
        parts, host, port = None, None, 0
    if parts is None or parts.scheme != "http" or not host:
        raise WebError(
            f"The proxy in the environment's {scheme}_proxy cannot be used for web requests: the user has to give "
            "the address of an HTTP proxy (http://HOST:PORT), or unset the variable.",
            "connection",
        )
    auth = (
        (unquote(parts.username or "").encode(), unquote(parts.password or "").encode()) if parts.username else None
    )
    return Proxy(host, port, auth)
