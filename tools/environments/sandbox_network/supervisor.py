"""Answers the calls that a confined command's filter hands over: `connect` and `listen`, on a thread of its own."""

from __future__ import annotations

import errno
import logging
import os
import select
import socket
import threading
from collections.abc import Callable

from tools.environments.sandbox_network import kernel
from tools.environments.sandbox_network.connecting import Caller, Connecting, Reach
from tools.environments.sandbox_network.kernel import Gone, Notification
from tools.environments.sandbox_network.port import Others
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_MOST_WAITING = 256


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A connection that a program wants: copies of all that it said."""

    notification: Notification
    caller: Caller
    socket: socket.socket
    address: bytes

    def close(self) -> None:
        self.socket.close()
        os.close(self.caller.alive)


@dataclass(frozen=True, slots=True)
class _Notice:
    """The `Notice` of the port; used on the supervisor's thread only, so the listener is open."""

    listener: int
    notification: Notification

    @property
    def pid(self) -> int:
        """As the port says."""
        return self.notification.thread

    @property
    def nr(self) -> int:
        """As the port says."""
        return self.notification.code

    @property
    def args(self) -> tuple[int, ...]:
        """As the port says."""
        return self.notification.arguments

    def valid(self) -> bool:
        """As the port says."""
        return kernel.is_waiting(self.listener, self.notification)

    def memory(self, address: int, size: int) -> bytes:
        """As the port says."""
        try:
            return kernel.memory_of(self.listener, self.notification, address, size)
        except Gone as problem:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH)) from problem


class Supervisor:
    """Serves one filter until its last process is gone, or `close`.

    Whatever goes wrong, a call that was handed over fails: with EACCES, and with ENOSYS once nobody serves.

    Args:
        listener: the notification descriptor; the supervisor's from now on.
        ended: is called on the supervisor's thread in the end.
        reach: of the command.
        others: as in the port.
    """

    def __init__(
        self,
        listener: int,
        command: int,
        connecting: Connecting,
        ended: Callable[[], None],
        *,
        reach: Reach,
        others: Others | None = None,
    ) -> None:
        self._listener = listener
        self._command = command
        self._connecting = connecting
        self._reach = reach
        self._others = others
        self._ended = ended
        self._lock = threading.Lock()
        self._is_released = False
        self._slots = threading.BoundedSemaphore(_MOST_WAITING)
        self._wake, self._sleep = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name=f"sandbox-network-{command}", daemon=True)

    def start(self) -> None:
        """Begin to serve.

        Raises:
            RuntimeError: no thread can be started; then the descriptor is closed.
        """
        try:
            self._thread.start()
        except RuntimeError:
            self._release()
            raise

    def is_over(self) -> bool:
        """Whether nobody is left whose calls would come here."""
        with self._lock:
            if self._is_released:
                return True
            poll = select.poll()
            poll.register(self._listener, 0)
            return bool(poll.poll(0))

    def close(self) -> None:
        """Serve no more."""
        try:
            self._wake.send(b"\0")
        except OSError:
            return  # it has ended by itself
        self._thread.join(5)

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._sleep, select.POLLIN)
        try:
            while True:
                ready = dict(poll.poll())
                if self._sleep.fileno() in ready or not ready[self._listener] & select.POLLIN:
                    return
                try:
                    self._take(kernel.receive(self._listener))
                except Gone:
                    continue
        except OSError:
            log.exception("the supervisor of a command's network ends")
        finally:
            self._release()
            self._ended()

    def _take(self, notification: Notification) -> None:
        try:
            if notification.call == "listen":
                with kernel.socket_of(self._listener, notification) as duplicate:
                    backlog = kernel.as_int(notification.arguments[1])
                    code = self._connecting.listen(self._command, self._reach, duplicate, backlog)
                self._answer(notification, code)
            elif notification.call == "connect":
                self._begin(self._attempt(notification))
            else:
                self._answer(notification, self._judged_by_others(notification))
        except OSError as problem:
            self._answer(notification, self._connecting.unseen(self._command, problem))
        except Gone:
            return
        except Exception:  # one call that fails must not take the network of the whole command with it
            log.exception("judging a call of a confined command")
            self._answer(notification, errno.EACCES)

    def _judged_by_others(self, notification: Notification) -> int | None:
        return errno.EACCES if self._others is None else self._others(_Notice(self._listener, notification))

    def _attempt(self, notification: Notification) -> _Attempt:
        address = kernel.address_of(self._listener, notification)
        duplicate = kernel.socket_of(self._listener, notification)
        try:
            alive = os.pidfd_open(kernel.process_of(self._listener, notification))
        except (Gone, OSError):
            duplicate.close()
            raise
        caller = Caller(self._command, self._reach, notification.thread, alive)
        return _Attempt(notification, caller, duplicate, address)

    def _begin(self, attempt: _Attempt) -> None:
        """On a thread of its own: it may take as long as the person, or as a server that does not answer."""
        if not self._slots.acquire(blocking=False):
            attempt.close()
            raise BlockingIOError(errno.EAGAIN, "too many connections wait")
        try:
            threading.Thread(target=self._connect, args=(attempt,), name="sandbox-connect", daemon=True).start()
        except RuntimeError as problem:
            self._slots.release()
            attempt.close()
            raise BlockingIOError(errno.EAGAIN, "no thread can be started") from problem

    def _connect(self, attempt: _Attempt) -> None:
        code = errno.EACCES
        try:
            code = self._connecting.connect(attempt.caller, attempt.socket, attempt.address)
        except Exception:  # as in `_take`
            log.exception("making a connection of a confined command")
        finally:
            attempt.close()
            self._slots.release()
            self._answer(attempt.notification, code)

    def _answer(self, notification: Notification, code: int | None) -> None:
        with self._lock:
            if not self._is_released:
                kernel.answer(self._listener, notification, code)

    def _release(self) -> None:
        with self._lock:
            self._is_released = True
            os.close(self._listener)
        self._wake.close()
        self._sleep.close()
