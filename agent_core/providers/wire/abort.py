"""Ending a request from another thread, whatever its own thread waits for."""

from __future__ import annotations

import contextlib
import functools
import socket
import threading
from collections.abc import Callable, Iterator

import httpcore2


class Abort:
    """Ends one request, whatever it waits for. Used by the requesting thread and by whoever cancels."""

    def __init__(self, patience: float | None = None) -> None:
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self.done = False
        self.patience = patience
        """Seconds that a read may wait; None leaves it to the client."""

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
