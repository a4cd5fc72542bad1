"""Connections for HTTP: names looked up, addresses checked, proxies, and deadlines that end with the turn."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from urllib.parse import unquote, urlsplit

from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, WebError
from tools.web.addresses import Target, inside_by_name


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
    search = _Search(host, port, deadline, find)
    search.start()
    if not deadline.interrupt.wait_for(lambda: search.is_done, deadline.left()):
        raise deadline.missed()
    if isinstance(search.problem, OSError | UnicodeError):
        raise WebError(
            f"The host {host} was not found ({search.problem}). Check the name, or find the page with web_search.",
            "connection",
        ) from search.problem
    if not search.found:
        raise WebError(f"The host {host} has no address.", "connection")
    return search.found


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
            return _connected(address, port, left if number == len(addresses) else min(left, _PATIENCE), deadline)
        except OSError as failure:
            problem = failure
    deadline.left()
    raise WebError(
        f"No connection to {addresses[0]} port {port}: {problem.strerror or problem}. Is the server up?", "connection"
    ) from problem


class _Search(threading.Thread):
    """The system's look-up cannot be interrupted: it has a thread of its own, which may outlive the wait for it."""

    def __init__(self, host: str, port: int, deadline: Deadline, find: LookUp) -> None:
        super().__init__(name="name-look-up", daemon=True)
        self._question = host, port
        self._deadline = deadline
        self._find = find
        self.found: Sequence[str] = ()
        self.problem: Exception | None = None
        self.is_done = False

    def run(self) -> None:
        try:
            self.found = self._find(*self._question)
        except (OSError, UnicodeError) as problem:  # UnicodeError: no name of a host can look like this
            self.problem = problem
        finally:
            self.is_done = True
            self._deadline.interrupt.notify()


def _connected(address: str, port: int, timeout: float, deadline: Deadline) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        code = connection.connect_ex((address, port))
        if code in _IN_PROGRESS:
            _wait_until_connected(connection, timeout, deadline)
            code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        _check(code)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))


def _wait_until_connected(connection: socket.socket, timeout: float, deadline: Deadline) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_WRITE)

        def wake() -> None:
            with suppress(OSError):
                theirs.send(b"\0")

        selector.register(ours, selectors.EVENT_READ)
        forget = deadline.interrupt.on_cancel(wake)
        try:
            ready = selector.select(timeout)
        finally:
            forget()
    if deadline.interrupt.is_set():
        raise deadline.missed()
    if not ready:
        raise TimeoutError("it did not answer in time")


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
