"""Ending a request from another thread, whatever its own thread waits for."""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
import time
from collections.abc import Callable, Iterator

import httpcore2


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
            raise httpcore2.ReadError("the request was given up")

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Inside the block the request waits for something that `wake` ends; `wake` must not block.

        Raises:
            httpcore2.ReadError: the request was given up.
        """
        self._begin(wake)
        try:
            yield
        finally:
            self._forget()

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
            self.check()
            self._wake = wake

    def _forget(self) -> None:
        with self._lock:
            self._wake = None


class _Current(threading.local):
    abort: Abort | None = None


_current = _Current()


def current_abort() -> Abort | None:
    """What ends the request that this thread works for; None outside of every request."""
    return _current.abort


def _shut_down(used: socket.socket) -> None:
    # The plain socket's shutdown: the TLS one would take the session from under the thread that reads.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(used, socket.SHUT_RDWR)
