"""Name look-ups and TCP connects that another thread can end."""

from __future__ import annotations

import contextlib
import errno
import functools
import ipaddress
import os
import selectors
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agent_core.providers.wire.abort import Abort

Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
LookUp = Callable[[str, int], Sequence[Address]]
_IN_PROGRESS = {errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR}


def look_up(host: str, port: int) -> Sequence[Address]:
    """The addresses of a host, as the system orders them.

    Raises:
        OSError: it has none.
    """
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class Resolver:
    """Finds addresses; an abort or a time limit ends the wait, though not the look-up itself.

    The system's look-up cannot be interrupted. It runs on a thread of its own, which ends by itself some time after
    it was given up; who asks for the same name meanwhile waits for that same thread.
    """

    def __init__(self, look_up: LookUp = look_up) -> None:
        self._look_up = look_up
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], _LookUpThread] = {}

    def addresses(self, host: str, port: int, timeout: float | None, abort: Abort | None) -> Sequence[Address]:
        """The addresses of `host`; `timeout` is in seconds.

        Raises:
            OSError: there is none; TimeoutError: it took too long.
            httpcore2.ReadError: the request was given up.
        """
        if abort is None or host == "localhost" or _is_address(host):
            return self._look_up(host, port)
        with self._lock:
            running = self._running.get((host, port))
            if running is None:
                running = _LookUpThread(functools.partial(self._run, host, port))
                self._running[host, port] = running
                running.start()
        return running.wait(timeout, abort)

    def _run(self, host: str, port: int) -> Sequence[Address]:
        try:
            return self._look_up(host, port)
        finally:
            with self._lock:
                del self._running[host, port]


class _LookUpThread(threading.Thread):
    def __init__(self, work: Callable[[], Sequence[Address]]) -> None:
        super().__init__(name="name-look-up", daemon=True)
        self._work = work
        self._changed = threading.Condition()
        self._found: Sequence[Address] | OSError | None = None

    def run(self) -> None:
        found: Sequence[Address] | OSError
        try:
            found = self._work()
        except (OSError, UnicodeError) as problem:  # UnicodeError: no name of a host can look like this
            found = problem if isinstance(problem, OSError) else OSError(f"no such host: {problem}")
        with self._changed:
            self._found = found
            self._changed.notify_all()

    def wait(self, timeout: float | None, abort: Abort) -> Sequence[Address]:
        with abort.waking(self._wake), self._changed:
            self._changed.wait_for(lambda: self._found is not None or abort.done, timeout)
            found = self._found
        abort.check()
        if found is None:
            raise TimeoutError("the look-up of the host's address timed out")
        if isinstance(found, OSError):
            # Several may wait for this one: each raises an error of its own.
            raise OSError(*found.args) from found
        return found

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def connect(
    address: Address,
    timeout: float | None,
    abort: Abort | None,
    source: tuple[str, int] | None = None,
    options: Iterable[Any] = (),
) -> socket.socket:
    """A connected TCP socket without Nagle's delay; `timeout` is in seconds, None waits for the system's own limit.

    Raises:
        OSError: it cannot be connected; TimeoutError: it took too long.
        httpcore2.ReadError: the request was given up.
    """
    family, kind, protocol, _, target = address
    connection = socket.socket(family, kind, protocol)
    try:
        for option in (*options, (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
            connection.setsockopt(*option)
        if source is not None:
            connection.bind(source)
        _establish(connection, target, timeout, abort)
    except BaseException:
        connection.close()
        raise
    return connection


def _establish(connection: socket.socket, target: Any, timeout: float | None, abort: Abort | None) -> None:
    connection.setblocking(False)
    code = connection.connect_ex(target)
    if code in _IN_PROGRESS:
        _wait_until_connected(connection, timeout, abort)
        code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))
    connection.settimeout(timeout)


def _wait_until_connected(connection: socket.socket, timeout: float | None, abort: Abort | None) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_WRITE)
        # A shutdown does not wake the poll of a connection in the making on every system; a byte does.
        selector.register(ours, selectors.EVENT_READ)
        with abort.waking(functools.partial(_send_byte, theirs)) if abort else contextlib.nullcontext():
            ready = selector.select(timeout)
    if abort is not None:
        abort.check()
    if not ready:
        raise TimeoutError("timed out")


def _send_byte(wake: socket.socket) -> None:
    with contextlib.suppress(OSError):
        wake.send(b"\0")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
