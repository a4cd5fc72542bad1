"""Sandboxes of cloud services as machines that sessions work on.

A sandbox belongs to one session, is made when something is first asked of it, and ends with it. It costs money as
long as it runs: so it ends by itself once its time is up, whatever becomes of this process, and what a process that
was killed has left behind is removed when the next one makes its first.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import select
import signal
import socket
import string
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Protocol

from tools.environments.backends import Elsewhere, Rescue, Wanted
from tools.environments.child_env import bare_environment
from tools.environments.remote.connection import NotConnected, Streams, ended
from tools.environments.remote.scripts import (
    is_left,
    leading,
    line_of,
    new_token,
    overlap,
    own_prefix,
    owned_name,
    quoted,
)
from tools.environments.remote.session import experimental, side_of, with_places_there
from tools.errors import CommandError, install_line
from tools.light_dataclass import dataclass

# What a service has to offer so that sessions can work in its sandboxes. Its SDK stays behind these few calls.
# All of them block, may be called from several threads, and may raise whatever the SDK raises.

_MEGABYTES_OF_A_GIGABYTE = 1024
_LIFETIME = 3600


@dataclass(frozen=True, slots=True)
class Terms:
    """On which a service makes sandboxes.

    Attributes:
        image: '' for the service's own.
        lifetime: seconds after which a sandbox ends in any case.
        cpus: processors; `memory` in megabytes. None: as the service has it.
    """

    image: str = ""
    has_network: bool = False
    lifetime: int = _LIFETIME
    cpus: float | None = None
    memory: int | None = None

    @property
    def minutes(self) -> int:
        """The lifetime, rounded up."""
        return -(-self.lifetime // 60)

    @property
    def whole_cpus(self) -> int | None:
        """Processors for a service that knows only whole ones."""
        return None if self.cpus is None else max(1, round(self.cpus))

    @property
    def gigabytes(self) -> int | None:
        """Memory for a service that knows only these, rounded up."""
        return None if self.memory is None else -(-self.memory // _MEGABYTES_OF_A_GIGABYTE)


@dataclass(frozen=True, slots=True)
class Size:
    """Of a terminal, in characters."""

    rows: int
    columns: int


_SIZE, _PLAIN_SIZE = Size(40, 120), Size(24, 120)


class Wire(Protocol):
    """One script at work in a sandbox."""

    def chunks(self) -> Iterator[bytes]:
        """What it prints, as it comes; ends when the script does, and raises where the connection broke off."""
        ...

    def send(self, data: bytes) -> None:
        """Give it input."""
        ...

    def end_input(self) -> None:
        """There is no more input."""
        ...

    def kill(self) -> None:
        """Nobody needs it any more: it ends, and so does `chunks`. Twice is once."""
        ...


class Terminal(Protocol):
    """A program at a terminal in a sandbox."""

    def read(self) -> bytes:
        """What it prints next; empty at its end."""
        ...

    def write(self, data: bytes) -> None:
        """Type."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class Sandbox:
    """One that was made for a session; `made` is the SDK's. A service has `opened`, or a `start` of its own."""

    def __init__(self, name: str, made: Any) -> None:
        self.name = name
        self.made = made

    def start(self, script: str, terminal: Size | None) -> Wire:
        """Start a script of POSIX shell.

        Args:
            terminal: its input and output are a terminal of that size; None: they are no terminal to it.
        """
        token = new_token()
        opened = self.opened(_first_program(token), terminal or _PLAIN_SIZE)
        return TerminalWire(opened, token, script, terminal)

    def opened(self, script: str, size: Size) -> Terminal:
        """Start a script at a terminal; no single quote stands in it."""
        raise NotImplementedError

    def end(self) -> None:
        """Remove it, with all that is in it."""
        raise NotImplementedError


class Cloud:
    """A service.

    Raises:
        CommandError: its SDK is not installed.

    Attributes:
        backend: its name in the settings.
        sdk: the module of its SDK, loaded when it is first used.
        title: what people call it.
        sign_in: how one signs in to it, to complete "Sign in: …".
    """

    backend: ClassVar[str]
    sdk_name: ClassVar[str]
    title: ClassVar[str]
    sign_in: ClassVar[str]

    def __init__(self, terms: Terms) -> None:
        # Loading it takes a second.
        if importlib.util.find_spec(self.sdk_name.partition(".")[0]) is None:
            raise CommandError(
                f"terminal.backend is {self.backend}, and the SDK of that service is not installed. Install it with: "
                f"{install_line(self.backend)}"
            )
        self.terms = terms

    @property
    def sdk(self) -> Any:
        """The SDK."""
        return importlib.import_module(self.sdk_name)

    def make(self, name: str) -> Sandbox:
        """Make a sandbox and wait until it runs. It ends by itself once its time is up."""
        raise NotImplementedError

    def named(self, prefix: str) -> Iterator[Sandbox]:
        """The sandboxes that there are whose names begin so."""
        raise NotImplementedError


def cloud_backend(make: type[Cloud]) -> Callable[[Wanted], Elsewhere]:
    """The factory of a service's backend."""

    def factory(wanted: Wanted) -> Elsewhere:
        options = wanted.options
        terms = Terms(
            image=str(options.get(f"{make.backend}_image") or ""),
            has_network=options.get("container_network") == "open",
            lifetime=int(options.get("container_lifetime") or _LIFETIME),
            cpus=options.get("container_cpu"),
            memory=options.get("container_memory"),
        )
        return with_places_there(
            make.backend,
            side_of(CloudMachine(make(terms), wanted.rescue), wanted),
            wanted,
            f"it runs in a sandbox of {make.title}, whose walls are the service's and not this program's",
            start=str(options.get("cwd") or ""),
            note=experimental(make.backend, "the service"),
        )

    return factory


# A program on this machine whose streams are those of a script in a sandbox, which only an SDK can reach.
# All else of another machine is built on programs and their streams. So a small one carries bytes between its own
# streams and a socket, and two threads here carry them between the socket and the SDK.

log = logging.getLogger(__name__)

_MOST = 65_536
_GIVING_SECONDS = 10.0
# Two threads, since a script may want its output to be taken before it takes more input.
_PROGRAM = """
import os, socket, sys, threading
wire = socket.socket(fileno=int(sys.argv[1]))
def give():
    try:
        while data := os.read(0, 65536):
            wire.sendall(data)
    except OSError:
        pass
    try:
        wire.shutdown(socket.SHUT_WR)
    except OSError:
        pass
threading.Thread(target=give, daemon=True).start()
try:
    while data := wire.recv(65536):
        while data:
            data = data[os.write(1, data):]
except OSError:
    pass
os._exit(0)
"""


def relay(wire: Wire, streams: Streams) -> subprocess.Popen[bytes]:
    """The program, with a group of its own; it ends with the script, and the script with it.

    Where the connection breaks off it ends by a signal.

    Raises:
        CommandError: it could not be started.
    """
    near, far = socket.socketpair()
    try:
        with far:
            words = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(far.fileno())]
            process = streams.popen(words, bare_environment(os.environ), (far.fileno(),))
    except CommandError:
        near.close()
        raise
    threading.Thread(target=_carry, args=(wire, near, process), name="a script in a sandbox", daemon=True).start()
    return process


def _carry(wire: Wire, near: socket.socket, process: subprocess.Popen[bytes]) -> None:
    giving = threading.Thread(target=_give, args=(wire, near), name="input of a script in a sandbox", daemon=True)
    giving.start()
    try:
        for chunk in wire.chunks():
            near.sendall(chunk)
    except Exception as problem:  # noqa: BLE001 - whatever the SDK raises, the connection is over
        log.info("the connection to a script in a sandbox broke off: %r", problem)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
    finally:
        with contextlib.suppress(OSError):
            near.shutdown(socket.SHUT_RDWR)
        _quietly(wire.kill)
        giving.join(_GIVING_SECONDS)
        near.close()


def _give(wire: Wire, near: socket.socket) -> None:
    """Carry the input, and see when the program is gone."""
    try:
        while data := near.recv(_MOST):
            wire.send(data)
    except Exception as problem:  # noqa: BLE001 - as above; its output tells how it ends
        log.debug("the input of a script in a sandbox ended early: %r", problem)
    _quietly(wire.end_input)
    gone = select.poll()
    gone.register(near, 0)  # a socket whose both ways are closed tells so unasked
    with contextlib.suppress(OSError):
        gone.poll()
    _quietly(wire.kill)


def _quietly(end: Callable[[], None]) -> None:
    try:
        end()
    except Exception as problem:  # noqa: BLE001 - whatever the SDK raises, there is nobody to tell
        log.debug("a script in a sandbox could not be ended: %r", problem)


# The machine.

_REMOVAL_SECONDS = 8.0
_RESCUE_SECONDS = 60.0
_LONGEST_WORDS = 300
_NO_SIGN_IN = ("auth", "credential", "token", "api key", "api_key", "unauthorized", "forbidden", "401", "403")


class CloudMachine:
    """Implements `Machine` in a sandbox; safe to use from several threads."""

    def __init__(self, cloud: Cloud, rescue: Rescue | None = None) -> None:
        self._cloud = cloud
        self._rescue = rescue
        self._lock = threading.Lock()
        self._sandbox: Sandbox | None = None
        self._is_used = False

    @property
    def name(self) -> str:
        """For people."""
        return f"the {self._cloud.title} sandbox"

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Have the sandbox, and the script in it."""
        with self._lock:
            if (held := self._sandbox) is None:
                self._sandbox = self._made()
                return self._started(self._sandbox, script, streams, None)
            try:
                return self._started(held, script, streams, None)
            except CommandError as problem:
                self._sandbox = None
                self._removal(held).start()
                raise CommandError(
                    f"{self.name} {held.name} is gone, and what was in it: its time was up, or the service has ended "
                    f"it. The next call makes a new one, which is empty. ({problem})"
                ) from problem

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script in the sandbox."""
        sandbox = self._sandbox
        if sandbox is None:
            raise NotConnected(f"{self.name} is not there yet. Try again.")
        return self._started(sandbox, script, streams, _size_of(streams) if terminal else None)

    def why(self, complaint: str) -> str:
        """What the words of a script that did not begin mean."""
        said = f" It said: {' '.join(complaint.split())[-_LONGEST_WORDS:]}" if complaint.strip() else ""
        return f"{self.name} was made, and ran no script: it needs sh, stty and mkfifo, as most images have.{said}"

    def never_started(self, _complaint: str, /) -> bool:
        """Nothing tells."""
        return False

    def close(self) -> None:
        """Remove the sandbox. If that takes longer than a moment, it goes on as long as this process does."""
        with self._lock:
            sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            removal = self._removal(sandbox)
            removal.start()
            removal.join(_REMOVAL_SECONDS)

    def _made(self) -> Sandbox:
        if not self._is_used:
            self._is_used = True
            removal = threading.Thread(target=self._remove_leftovers, name="removal of sandboxes", daemon=True)
            removal.start()
            if self._rescue is not None and self._rescue.is_wanted(self.name):
                # The session may be the one whose work is saved there.
                removal.join(_RESCUE_SECONDS)
        name = owned_name()
        try:
            return self._cloud.make(name)
        except CommandError:
            raise
        except Exception as problem:
            raise self._failed("make a sandbox", problem) from problem

    def _started(self, sandbox: Sandbox, script: str, streams: Streams, size: Size | None) -> subprocess.Popen[bytes]:
        try:
            wire = sandbox.start(script, size)
        except Exception as problem:
            raise self._failed("start a command", problem) from problem
        try:
            return relay(wire, streams)
        except CommandError:
            wire.kill()
            raise

    def _failed(self, doing: str, problem: Exception) -> CommandError:
        words = " ".join(str(problem).split())[:_LONGEST_WORDS] or type(problem).__name__
        text = f"{type(problem).__name__} {words}".lower()
        step = (
            f"Sign in: {self._cloud.sign_in}"
            if any(word in text for word in _NO_SIGN_IN)
            else "See that the service is up, and look at the settings in terminal"
        )
        return CommandError(f"Could not {doing} with {self._cloud.title}: {words}. {step}.")

    def _removal(self, sandbox: Sandbox) -> threading.Thread:
        def remove() -> None:
            try:
                sandbox.end()
            except Exception:
                # Its time is limited: it goes without us.
                log.warning("the sandbox %s could not be removed", sandbox.name, exc_info=True)

        return threading.Thread(target=remove, name="end of a sandbox", daemon=True)

    def _remove_leftovers(self) -> None:
        """Remove the sandboxes of processes of this machine's that are gone."""
        try:
            for sandbox in self._cloud.named(own_prefix()):
                if is_left(sandbox.name):
                    if self._rescue is not None:
                        self._rescue.save(self.name, partial(_within, sandbox))
                    log.info("the sandbox %s of a process that is gone is removed", sandbox.name)
                    sandbox.end()
        except Exception:
            # They end by themselves as well, only later.
            log.warning("sandboxes that were left behind could not be looked for", exc_info=True)


@contextmanager
def _within(sandbox: Sandbox, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = relay(sandbox.start(script, None), streams)
    except Exception as problem:
        raise CommandError(f"The sandbox {sandbox.name} does not answer: {problem}.") from problem
    with ended(process):
        yield process


def _size_of(streams: Streams) -> Size:
    if not isinstance(streams.stdin, int) or streams.stdin < 0:
        return _SIZE
    try:
        size = os.get_terminal_size(streams.stdin)
    except OSError:
        return _SIZE
    return Size(size.lines or _SIZE.rows, size.columns or _SIZE.columns)


# A script's plain bytes over a service that has only terminals for programs that read.
# The terminal is made raw; then a line with what is to be run is sent. A terminal has no end of input: so input goes
# as lines of text, which a loop of shell there decodes; one line says that there is no more, and one that the script
# is to end. What is printed stands between two marks that nobody knows beforehand.

_READY_SECONDS = 60.0
_LONGEST_LINE = 2_048
_MOST_GREETING = 200_000
_END_OF_INPUT, _KILL = b".\n", b"!\n"
_KILL_SECONDS = 2.0
# In no text: so hardly any output is held back because it could be the mark.
_BEFORE_END = b"\xf5"
_PLAIN = frozenset(string.ascii_letters + string.digits + string.punctuation + " ") - {"\\"}
# It may be typed at some shell's prompt, and be echoed: so no quote or backslash is in it, and its mark is in halves.
_FIRST = 'stty raw -echo; printf %s%s {half} {other}; IFS= read -r l; eval "$(printf %b "$l")"'
# It hangs up where the service lets go of it: then the script, which is in a session of its own, is ended as well.
_PIPED = """exec 3<&0 2>/dev/null
f=${{TMPDIR:-/tmp}}/hermes-acp.{token}; (umask 077; mkfifo "$f") || exit 97
s=; command -v setsid >/dev/null && s=setsid
h=; trap h=1 HUP
$s sh -c {script} <"$f" 3<&- &
c=$!
trap 'kill -KILL "-$c" "$c"; exit' HUP
[ -z "$h" ] || {{ kill -KILL "-$c" "$c"; exit; }}
{{
  trap '' PIPE HUP
  exec 5>"$f"; rm -f "$f"
  while IFS= read -r l; do
    case $l in .) exec 5>&- ;; !) kill -KILL "-$c" "$c" ;; *) printf %b "$l" >&5 ;; esac
  done
}} <&3 >/dev/null &
p=$!
wait $c
kill -KILL $p; printf '\\365%s%s' {half} {other}
"""
_AT_TERMINAL = "stty sane rows {rows} cols {columns} 2>/dev/null\n{script}"


class BrokenOff(OSError):
    """The terminal ended before the script."""


def _first_program(token: str) -> str:
    half, other = _halves(token)
    return _FIRST.format(half=half, other=other)


class TerminalWire:
    """Implements `Wire`.

    Args:
        opened: where `_first_program` with the same token was started.
        size: the script is to have the terminal; None: plain bytes.
    """

    def __init__(self, opened: Terminal, token: str, script: str, size: Size | None) -> None:
        self._terminal = opened
        self._mark = token.encode()
        self._end = new_token()
        self._size = size
        self._script = self._wrapped(script)
        self._ready, self._over = threading.Event(), threading.Event()
        self._lock = threading.Lock()

    def chunks(self) -> Iterator[bytes]:
        """What the script prints."""
        try:
            held = self._begun()
        finally:
            self._ready.set()
        if self._size is not None:
            while held := held or self._read():
                yield held
                held = b""
            return
        end = _BEFORE_END + self._end.encode()
        while end not in held:
            keep = overlap(held, end)
            if len(held) > keep:
                yield held[: len(held) - keep]
                held = held[len(held) - keep :]
            if not (data := self._read()):
                raise BrokenOff("the terminal there ended before the script did")
            held += data
        self._over.set()
        if last := held.partition(end)[0]:
            yield last

    def send(self, data: bytes) -> None:
        """Give it input."""
        self._wait()
        if self._size is not None:
            self._terminal.write(data)
            return
        for at in range(0, len(data), _LONGEST_LINE):
            with self._lock:
                self._terminal.write(_encoded(data[at : at + _LONGEST_LINE]))

    def end_input(self) -> None:
        """A line says so; at a terminal nothing does."""
        self._wait()
        if self._size is None and not self._over.is_set():
            with self._lock:
                self._terminal.write(_END_OF_INPUT)

    def kill(self) -> None:
        """End it."""
        if self._size is None and self._ready.is_set() and not self._over.is_set():
            # Whatever the SDK raises: the terminal's end ends it too.
            with self._lock, contextlib.suppress(Exception):
                self._terminal.write(_KILL)
            self._over.wait(_KILL_SECONDS)
        self._ready.set()
        self._terminal.kill()

    def _begun(self) -> bytes:
        """Wait for the mark, and send what is to run; returns what came behind it."""
        seen = b""
        while self._mark not in seen:
            data = self._read()
            if not data or len(seen) > _MOST_GREETING:
                raise BrokenOff(f"the terminal there did not begin as expected: {seen[-300:]!r}")
            seen += data
        self._terminal.write(line_of(self._script))
        return seen.partition(self._mark)[2]

    def _read(self) -> bytes:
        """What comes next; at the end there is nothing to be ended any more."""
        data = b""
        try:
            data = self._terminal.read()
        finally:
            if not data:
                self._over.set()
        return data

    def _wait(self) -> None:
        if not self._ready.wait(_READY_SECONDS):
            raise TimeoutError(f"the terminal there did not begin within {_READY_SECONDS:.0f} seconds")

    def _wrapped(self, script: str) -> str:
        if (size := self._size) is not None:
            return _AT_TERMINAL.format(rows=size.rows, columns=size.columns, script=leading(script, terminal=True))
        half, other = _halves(self._end)
        return _PIPED.format(token=new_token(), script=quoted(script), half=half, other=other)


def _halves(token: str) -> tuple[str, str]:
    return token[: len(token) // 2], token[len(token) // 2 :]


def _encoded(data: bytes) -> bytes:
    """A line that `printf %b` makes the data of again: plain signs, and all others by their numbers."""
    # The first sign is never plain, so that no line of data is the one that ends the input.
    first, rest = data[:1], data[1:]
    signs = (chr(byte) if chr(byte) in _PLAIN else f"\\0{byte:03o}" for byte in rest)
    return f"\\0{first[0]:03o}{''.join(signs)}\n".encode("ascii")
