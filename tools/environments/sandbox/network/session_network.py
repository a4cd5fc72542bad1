"""The network of one session's confined commands: the `NetworkGuard` port, and the supervisor behind it."""

from __future__ import annotations

import errno
import itertools
import logging
import os
import secrets
import select
import socket
import threading
from collections.abc import Callable, Mapping

from tools.environments.http_connect import LookUp, look_up
from tools.environments.sandbox import seccomp
from tools.environments.sandbox.network.connections import Caller, Connecting, Desk, ProxyDoor, Reach, Refusals
from tools.environments.sandbox.network.hosts import HostGate, HostRules, NetworkRules, Others, Watched
from tools.environments.sandbox.network.proxy import NOT_ANNOUNCED, SandboxProxy, proxy_variables
from tools.environments.sandbox.network.sockets import OwnListeners
from tools.environments.sandbox.network.upstream import Reaching
from tools.environments.sandbox.seccomp import Gone, Notification
from tools.light_dataclass import dataclass

# The supervisor answers the calls that a command's filter hands over: `connect` and `listen`, on a thread of its own.

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
        return seccomp.is_waiting(self.listener, self.notification)

    def memory(self, address: int, size: int) -> bytes:
        """As the port says."""
        try:
            return seccomp.memory_of(self.listener, self.notification, address, size)
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
                    self._take(seccomp.receive(self._listener))
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
                with seccomp.socket_of(self._listener, notification) as duplicate:
                    backlog = seccomp.as_int(notification.arguments[1])
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
        address = seccomp.address_of(self._listener, notification)
        duplicate = seccomp.socket_of(self._listener, notification)
        try:
            alive = os.pidfd_open(seccomp.process_of(self._listener, notification))
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
                seccomp.answer(self._listener, notification, code)

    def _release(self) -> None:
        with self._lock:
            self._is_released = True
            os.close(self._listener)
        self._wake.close()
        self._sleep.close()


@dataclass(frozen=True, slots=True)
class _Watched:
    command: int
    taken_down: Refusals

    def refusals(self) -> tuple[str, ...]:
        """As the port says."""
        return self.taken_down.since(command=self.command)


class SessionNetwork:
    """One a session; safe to use from several threads. Nothing runs before the first command.

    Args:
        gate: asks about what no rule decides.
        hosts: the rules, as they were when the session began; None: what holds without any settings.
        find: looks names up.
        proxies: the user's own proxies by scheme, as `urllib.request.getproxies` has them; None: the environment's.
    """

    def __init__(
        self,
        gate: HostGate,
        hosts: HostRules | None = None,
        *,
        find: LookUp = look_up,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        hosts = hosts or HostRules(NetworkRules())
        own = OwnListeners()
        self._door = ProxyDoor()
        self._desk = Desk(gate)
        self._refusals = Refusals()
        self._connecting = Connecting(own, self._door, self._desk, hosts, self._refusals)
        self._reaching = Reaching(own, self._door, self._desk, hosts, self._refusals, find=find, proxies=proxies)
        self._lock = threading.Lock()
        self._numbers = itertools.count(NOT_ANNOUNCED + 1)
        self._supervisors: dict[int, Supervisor] = {}
        self._password = secrets.token_hex(16)
        self._proxy: SandboxProxy | None = None
        self._is_closed = False

    def adopt(
        self, listener: int, *, online: bool = True, everywhere: bool = False, others: Others | None = None
    ) -> Watched:
        """As the port says."""
        reach: Reach = "everywhere" if everywhere else "proxy" if online else "session"
        with self._lock:
            if self._is_closed:
                os.close(listener)
                raise OSError("The session has ended: its network serves no new command.")
            command = next(self._numbers)
            supervisor = Supervisor(
                listener, command, self._connecting, lambda: self._ended(command), reach=reach, others=others
            )
            supervisor.start()
            self._supervisors[command] = supervisor
        return _Watched(command, self._refusals)

    def variables(self) -> Mapping[str, str]:
        """As the port says."""
        # Without a supervisor nobody knows where a command begins: the next one is this call's.
        self._desk.forget(NOT_ANNOUNCED, refused_only=True)
        with self._lock:
            if self._is_closed:
                raise OSError("The session has ended: its network serves no new command.")
            if self._proxy is None:
                proxy = SandboxProxy(self._door, self._reaching, self._password)
                self._door.port = proxy.start()
                self._proxy = proxy
            assert self._door.port is not None  # noqa: S101 - set with the proxy
            return proxy_variables(self._door.port, self._password, os.environ)

    def mark(self) -> int:
        """As the port says."""
        return self._refusals.count()

    def refusals(self, since: int = 0) -> tuple[str, ...]:
        """As the port says."""
        return self._refusals.since(since)

    def any_left(self) -> bool:
        """As the port says."""
        with self._lock:
            supervisors = list(self._supervisors.values())
        return any(not supervisor.is_over() for supervisor in supervisors)

    def close(self) -> None:
        """As the port says; may be called again."""
        with self._lock:
            self._is_closed = True
            proxy, self._proxy = self._proxy, None
            supervisors = list(self._supervisors.values())
        self._desk.close()
        for supervisor in supervisors:
            supervisor.close()
        if proxy is not None:
            proxy.close()

    def _ended(self, command: int) -> None:
        self._desk.forget(command)
        with self._lock:
            self._supervisors.pop(command, None)
