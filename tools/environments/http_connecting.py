"""Looking up a name and connecting to exactly the addresses that were found; both end with the turn."""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from tools.environments.http_deadline import Deadline
from tools.ports import WebError

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
