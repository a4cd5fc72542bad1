"""Makes a program's connections in its place, to an address that nobody can change any more, if they may be made."""

from __future__ import annotations

import ctypes
import errno
import ipaddress
import logging
import os
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import field
from typing import Literal

from tools.environments.sandbox.network.hosts import HostGate, HostRules
from tools.environments.sandbox.network.sockets import Fence, NotFenced, OwnListeners, is_of_this_machine
from tools.errors import ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.web.addresses import IPAddress


class NobodyWaits:
    """An `Interrupt` for one question: set once, when the last program that waits for its answer is gone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_set = False
        self._callbacks: dict[object, Callable[[], None]] = {}

    def set(self) -> None:
        """Wake every sleeper and run every callback, on this thread."""
        with self._condition:
            if self._is_set:
                return
            self._is_set = True
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
            self._condition.notify_all()
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """As the port says."""
        return self._is_set

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """As the port says."""
        with self._condition:
            if not self._is_set:
                key = object()
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """As the port says."""
        end = None if timeout is None else time.monotonic() + timeout
        with self._condition:
            while not self._is_set:
                if predicate():
                    return True
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._condition.wait(left)
        return False

    def notify(self) -> None:
        """As the port says."""
        with self._condition:
            self._condition.notify_all()

    def _forget(self, key: object) -> None:
        with self._condition:
            self._callbacks.pop(key, None)


# One question for each command, host and port, however many connections wait for it.

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A host and port that a command wants to reach. `inside` as in `HostGate.may_connect`."""

    command: int
    host: str
    port: int
    inside: str = ""

    @property
    def shown(self) -> str:
        """As "example.org:443"."""
        return shown_place(self.host, self.port)


@dataclass(slots=True)
class _Question:
    answer: Future[bool] = field(default_factory=Future)
    gone: NobodyWaits = field(default_factory=NobodyWaits)
    waiting: int = 0


class Desk:
    """Has the answers of a session's commands; safe to use from several threads."""

    def __init__(self, gate: HostGate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._questions: dict[Place, _Question] = {}
        self._is_closed = False

    @contextmanager
    def asked(self, place: Place) -> Iterator[Future[bool]]:
        """The answer for `place`, to be waited for in here; when the last one has left, the question is withdrawn."""
        with self._lock:
            question = self._questions.get(place)
            is_new = question is None
            if question is None:
                question = self._questions[place] = _Question()
                question.answer.set_running_or_notify_cancel()  # from here on no waiter can cancel it for the others
            question.waiting += 1
            if self._is_closed and is_new:
                question.answer.set_result(False)
                is_new = False
        if is_new:
            threading.Thread(target=self._ask, args=(place, question), name="host-question", daemon=True).start()
        try:
            yield question.answer
        finally:
            self._leave(place, question)

    def reached(self) -> None:
        """A host was reached that nobody is asked about."""
        self._gate.reached()

    def forget(self, command: int, *, refused_only: bool = False) -> None:
        """The command has ended: another one asks anew. With `refused_only` only where the answer was no."""
        with self._lock:
            for place, question in list(self._questions.items()):
                if place.command != command or not question.answer.done():
                    continue
                if not refused_only or not question.answer.result():
                    del self._questions[place]

    def close(self) -> None:
        """Every question is withdrawn, and every later one answered with no."""
        with self._lock:
            self._is_closed = True
            questions = list(self._questions.values())
        for question in questions:
            question.gone.set()

    def _leave(self, place: Place, question: _Question) -> None:
        with self._lock:
            question.waiting -= 1
            is_last = question.waiting == 0 and not question.answer.done()
            if is_last and self._questions.get(place) is question:
                del self._questions[place]
        if is_last:
            question.gone.set()

    def _ask(self, place: Place, question: _Question) -> None:
        is_allowed = False
        try:
            is_allowed = self._gate.may_connect(place.host, place.port, question.gone, place.inside) is True
        except (ToolError, ToolInterrupted):
            pass  # no is an answer, and so is the end of the turn
        except Exception:  # whatever is wrong with the question, the program must not wait for ever
            log.exception("asking whether %s may be reached", place.shown)
        finally:
            question.answer.set_result(is_allowed and not question.gone.is_set())


def shown_place(host: str, port: int) -> str:
    """As "example.org:443", "[::1]:80"."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_MOST = 1_000


class Refusals:
    """Safe to use from several threads; one a session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[tuple[int, str]] = []

    def add(self, command: int, what: str) -> None:
        """Take down a refusal: "example.org:443: the person said no"."""
        with self._lock:
            if len(self._entries) < _MOST:
                self._entries.append((command, what))

    def of(self, command: int | None) -> tuple[str, ...]:
        """Those of one command, or for None of all, each once and in order."""
        with self._lock:
            found = (what for whose, what in self._entries if command is None or whose == command)
            return tuple(dict.fromkeys(found))


# The connections.

_FAMILY = struct.Struct("=H")
_INET_SIZE, _INET6_SIZE = 8, 24
_PATH_SIZE = 108
_TCP = frozenset({0, socket.IPPROTO_TCP})
_UNIX_TYPES = frozenset({socket.SOCK_STREAM, socket.SOCK_SEQPACKET})
_UNDER_WAY = frozenset({0, errno.EINPROGRESS})
# The C library and systemd's name services try them again and again and go on without: no news for anybody.
_QUIET = (b"/run/nscd/", b"/var/run/nscd/", b"/run/systemd/", b"/run/dbus/", b"/var/run/dbus/", b"/dev/log")


Reach = Literal["session", "proxy", "everywhere"]
"""What a command may reach: its session's own servers; the proxy and what the person allows, too; the internet."""


class Refused(Exception):
    """The call has to fail with `code`; `why` is '' where nobody needs to know."""

    def __init__(self, code: int, why: str = "") -> None:
        super().__init__(why)
        self.code = code
        self.why = why


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose connection it is: which command's, and which thread's. `alive` is readable when its process has ended."""

    command: int
    reach: Reach
    thread: int
    alive: int


class ProxyDoor:
    """The proxy's address, and which of its connections come from which command. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: dict[int, int] = {}
        self.port: int | None = None

    def announce(self, port: int, command: int) -> None:
        """A connection from this port of the machine is about to come, and is the command's."""
        with self._lock:
            self._commands[port] = command

    def take(self, port: int) -> int | None:
        """Whose connection from this port is; None if it was not announced."""
        with self._lock:
            return self._commands.pop(port, None)


@dataclass(frozen=True, slots=True)
class _Target:
    kind: Literal["proxy", "machine", "outside"]
    address: IPAddress
    port: int


class Connecting:
    """Judges a session's connections and makes them; safe to use from several threads."""

    def __init__(self, own: OwnListeners, door: ProxyDoor, desk: Desk, rules: HostRules, refusals: Refusals) -> None:
        self._own = own
        self._fence = Fence(own)
        self._door = door
        self._desk = desk
        self._rules = rules
        self._refusals = refusals

    def listen(self, command: int, reach: Reach, duplicate: socket.socket, backlog: int) -> int:
        """Listen in the place of a program; the errno with which its call ends, 0 for none.

        Args:
            duplicate: of the program's socket, which is the session's own from now on.
            backlog: as the program gave it.
        """
        try:
            self._fence.listen(duplicate, backlog, everywhere=reach == "everywhere")
        except NotFenced as problem:
            self._refusals.add(command, str(problem))
            return errno.EACCES
        except OSError as problem:
            return problem.errno or errno.EACCES
        return 0

    def unseen(self, command: int, problem: OSError) -> int:
        """A call's process may not be looked into, as the kernel says; the errno with which the call ends."""
        if problem.errno in {errno.EPERM, errno.EACCES}:
            why = "the connection of a program that may not be looked into (it hides itself, or was left behind)"
            self._refusals.add(command, why)
        return problem.errno or errno.EACCES

    def connect(self, caller: Caller, duplicate: socket.socket, address: bytes) -> int:
        """Connect the socket; the errno with which the program's call ends, 0 for none.

        Blocks while the person is asked, and where the socket does.

        Args:
            duplicate: of the program's socket.
            address: a copy of what it gave, as the C library lays it out.
        """
        try:
            return self._connect(caller, duplicate, address)
        except Refused as refused:
            if refused.why:
                self._refusals.add(caller.command, refused.why)
            return refused.code
        except OSError as problem:
            return problem.errno or errno.EACCES

    def _connect(self, caller: Caller, duplicate: socket.socket, address: bytes) -> int:
        if len(address) < _FAMILY.size:
            return errno.EINVAL
        (family,) = _FAMILY.unpack_from(address)
        if duplicate.family == socket.AF_UNIX and family == socket.AF_UNIX and duplicate.type in _UNIX_TYPES:
            return self._connect_unix(caller, duplicate, address[_FAMILY.size :])
        if not _is_let_out(duplicate, caller.reach):
            raise Refused(errno.EACCES, "a connection that is not TCP: the sandbox lets none out")
        if family == socket.AF_UNSPEC:
            return _disconnect(duplicate)
        if family != duplicate.family:
            return errno.EAFNOSUPPORT
        return self._connect_inet(caller, duplicate, address)

    def _connect_inet(self, caller: Caller, duplicate: socket.socket, given: bytes) -> int:
        if len(given) < (_INET_SIZE if duplicate.family == socket.AF_INET else _INET6_SIZE):
            return errno.EINVAL
        if caller.reach == "everywhere":
            return duplicate.connect_ex(_socket_address(duplicate, given))
        target = self._target(given)
        if target.kind == "proxy" and caller.reach != "session":
            return self._connect_to_proxy(caller, duplicate, target.port)
        if target.kind != "machine":
            shown = shown_place(str(target.address), target.port)
            why = "a direct connection; only the proxy that HTTPS_PROXY names leads out of the sandbox"
            raise Refused(
                errno.EACCES, f"{shown}: {why if caller.reach != 'session' else 'the sandbox has no network'}"
            )
        is_own = self._own.have_port(target.port)
        if is_own is None:
            return errno.ECONNREFUSED
        if not is_own:
            self._ask(caller, target)
        return duplicate.connect_ex(_socket_address(duplicate, given))

    def _target(self, given: bytes) -> _Target:
        (port,) = struct.unpack_from("!H", given, 2)
        raw = given[4:8] if _FAMILY.unpack_from(given)[0] == socket.AF_INET else given[8:24]
        address = ipaddress.ip_address(raw)
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if port == self._door.port and str(address) == "127.0.0.1":
            return _Target("proxy", address, port)
        if is_of_this_machine(address):
            return _Target("machine", address, port)
        return _Target("outside", address, port)

    def _connect_to_proxy(self, caller: Caller, duplicate: socket.socket, port: int) -> int:
        """The port that the connection comes from tells the proxy whose it is."""
        here = "127.0.0.1" if duplicate.family == socket.AF_INET else "::ffff:127.0.0.1"
        try:
            duplicate.bind((here, 0))
        except OSError as problem:
            if problem.errno != errno.EINVAL:  # which means that it has a port already
                raise
        source = int(duplicate.getsockname()[1])
        self._door.announce(source, caller.command)
        code = duplicate.connect_ex((here, port))
        if code not in _UNDER_WAY:
            self._door.take(source)
        return code

    def _ask(self, caller: Caller, target: _Target) -> None:
        place = Place(caller.command, "localhost", target.port, "this machine")
        names = ("localhost", str(target.address))
        if any(self._rules.denies(name, target.port) for name in names):
            raise Refused(errno.EACCES, f"{place.shown}: the settings deny it")
        if not caller.reach != "session":
            raise Refused(errno.EACCES, f"{place.shown}: a service of this machine, and the sandbox has no network")
        if any(self._rules.allowance(name, target.port) == "user" for name in names):
            return
        with self._desk.asked(place) as answer:
            _wait(answer.add_done_callback, caller.alive)
            if not answer.done() or not answer.result():
                raise Refused(errno.EACCES, f"{place.shown}: a service of this machine, and the answer was no")

    def _connect_unix(self, caller: Caller, duplicate: socket.socket, name: bytes) -> int:
        if not name or len(name) > _PATH_SIZE:
            return errno.EINVAL
        if name.startswith(b"\0"):
            if not self._own.have_name(name[1:]):
                raise _foreign(b"@" + name[1:])
            return duplicate.connect_ex(name)
        path = name.partition(b"\0")[0]
        base = b"/proc/%d/%s/" % (caller.thread, b"root" if path.startswith(b"/") else b"cwd")
        place = os.open(base + path.lstrip(b"/"), os.O_PATH | os.O_CLOEXEC)
        try:
            found = os.fstat(place)
            if not stat.S_ISSOCK(found.st_mode):
                return errno.ECONNREFUSED
            if not self._own.have_path(found):
                raise _foreign(path)
            # What is held open is what was judged, whatever has come to the path meanwhile.
            return duplicate.connect_ex(f"/proc/self/fd/{place}")
        finally:
            os.close(place)


def _foreign(name: bytes) -> Refused:
    is_quiet = name.startswith(_QUIET)
    shown = name.decode("utf-8", "replace")
    return Refused(
        errno.EACCES, "" if is_quiet else f"the socket {shown}: a program outside the sandbox listens there"
    )


def _socket_address(duplicate: socket.socket, given: bytes) -> tuple[str, int] | tuple[str, int, int, int]:
    (port,) = struct.unpack_from("!H", given, 2)
    if duplicate.family == socket.AF_INET:
        return str(ipaddress.IPv4Address(given[4:8])), port
    (flow,) = struct.unpack_from("!I", given, 4)
    (scope,) = struct.unpack_from("=I", given.ljust(28, b"\0"), 24)
    return str(ipaddress.IPv6Address(given[8:24])), port, flow & 0xFFFFF, scope


def _is_let_out(duplicate: socket.socket, reach: Reach) -> bool:
    if duplicate.family not in {socket.AF_INET, socket.AF_INET6}:
        return False
    return reach == "everywhere" or (duplicate.type == socket.SOCK_STREAM and duplicate.proto in _TCP)


def _disconnect(duplicate: socket.socket) -> int:
    """What connecting to no family does: the socket becomes as new."""
    library = ctypes.CDLL(None, use_errno=True)
    return 0 if library.connect(duplicate.fileno(), bytes(16), 16) == 0 else ctypes.get_errno()


def _wait(call_when_done: Callable[[Callable[[object], None]], None], alive: int) -> None:
    """Sleep until there is an answer, or the program has ended."""
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def wake(_: object) -> None:
            try:
                theirs.send(b"\0")
            except OSError:
                return  # nobody waits any more

        call_when_done(wake)
        poll = select.poll()
        poll.register(ours, select.POLLIN)
        poll.register(alive, select.POLLIN)
        poll.poll()
