"""The network of one session's confined commands, and the supervisor that answers their calls."""

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
from tools.environments.sandbox.network.connections import Caller, Connecting, Desk, ProxyDoor, Reach, Refusals
from tools.environments.sandbox.network.hosts import HostGate, HostRules, NetworkRules
from tools.environments.sandbox.network.proxy import NOT_ANNOUNCED, SandboxProxy, proxy_variables
from tools.environments.sandbox.network.sockets import OwnListeners
from tools.environments.sandbox.network.upstream import Reaching
from tools.environments.sandbox.seccomp import Gone, Notification, as_int, receive
from tools.light_dataclass import dataclass

# The supervisor answers the calls that a command's filter hands over: `connect` and `listen`, on a thread of its own.

log = logging.getLogger(__name__)

_MOST_WAITING = 256

Others = Callable[[Notification], int | None]
"""Answers a call that is not the network's: 0 for a success, an errno, or None, with which the kernel makes the call:
so only what stands in registers was judged. It is quick and raises nothing."""


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


class Supervisor:
    """Serves one filter until its last process is gone, or `close`.

    Whatever goes wrong, a call that was handed over fails: with EACCES, and with ENOSYS once nobody serves.

    Args:
        listener: the notification descriptor; the supervisor's from now on.
        ended: is called on the supervisor's thread in the end.
        reach: of the command.
        others: answers every other call; None refuses it (EACCES).
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
                    self._take(receive(self._listener))
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
                with notification.its_socket() as duplicate:
                    backlog = as_int(notification.args[1])
                    code = self._connecting.listen(self._command, self._reach, duplicate, backlog)
                self._answer(notification, code)
            elif notification.call == "connect":
                self._begin(self._attempt(notification))
            else:
                self._answer(notification, errno.EACCES if self._others is None else self._others(notification))
        except Gone:
            return
        except OSError as problem:
            self._answer(notification, self._connecting.unseen(self._command, problem))
        except Exception:  # one call that fails must not take the network of the whole command with it
            log.exception("judging a call of a confined command")
            self._answer(notification, errno.EACCES)

    def _attempt(self, notification: Notification) -> _Attempt:
        address = notification.address()
        duplicate = notification.its_socket()
        try:
            alive = os.pidfd_open(notification.process())
        except OSError:
            duplicate.close()
            raise
        caller = Caller(self._command, self._reach, notification.pid, alive)
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
                notification.answer(code)

    def _release(self) -> None:
        with self._lock:
            self._is_released = True
            os.close(self._listener)
        self._wake.close()
        self._sleep.close()


@dataclass(frozen=True, slots=True)
class Watched:
    """The network of one command."""

    command: int
    taken_down: Refusals

    def refusals(self) -> tuple[str, ...]:
        """What it tried to reach and did not, each once and in order: "example.org:443: the person said no"."""
        return self.taken_down.of(self.command)


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
        """Serve a seccomp notification descriptor, the network's own from now on, until its last process is gone.

        It is called on a thread that is not confined itself: those that serve would inherit that. The filter notifies
        of `connect` and `listen`. When the network ends before the processes, their calls fail (ENOSYS).

        Args:
            online: whether the proxy, and services of this machine that the person allows, may be reached. Without
                it only what listens in this session's own commands.
            everywhere: every internet address may be reached directly; unix sockets are judged as ever.
            others: is asked, on a thread of the network's, about every other call; None refuses it (EACCES).

        Raises:
            OSError, RuntimeError: the session has ended, or no thread can be started; the descriptor is closed.
        """
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
        return Watched(command, self._refusals)

    def variables(self) -> Mapping[str, str]:
        """The environment that leads programs to the proxy, which is started if it does not run yet.

        The same in each call, so that it does not matter if a shell keeps them from one command to the next.

        Raises:
            OSError: the proxy cannot be started.
        """
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

    def refusals(self) -> tuple[str, ...]:
        """The refusals of all commands, each once and in order."""
        return self._refusals.of(None)

    def any_left(self) -> bool:
        """Whether a process is alive whose connections are judged here."""
        with self._lock:
            supervisors = list(self._supervisors.values())
        return any(not supervisor.is_over() for supervisor in supervisors)

    def close(self) -> None:
        """The session has ended: connections through the proxy are cut, no new one is made. May be called again."""
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
