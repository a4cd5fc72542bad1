"""Starts programs that call tools, and answers the calls, one message each, over the socket that they inherit."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import shlex
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools.environments.sandbox.network.connections import NobodyWaits
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import CallTool, Interrupt
from tools.result import ToolResult, reason_of
from tools.settings import ProgramSettings

# The start: the shell command, and what the new interpreter is told over its socket.

SIZE = struct.Struct(">I")
"""Stands before each message: how many bytes it has."""

# What it imports comes from the interpreter's own library, whatever files of these names the workspace has. Any
# Python understands it, so that an old one can say that it is too old.
_START = """
import sys
path = list(sys.path)
sys.path[:] = [place for place in path if place]
if sys.version_info < (3, 8): sys.exit("This program needs Python 3.8 or newer; %s is %s." % (sys.executable, sys.version.split()[0]))
import socket, types
connection = socket.socket(fileno={descriptor})
connection.set_inheritable(False)
def take(count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part: sys.exit("The session has ended.")
        data += part
    return data
module = types.ModuleType("hermes_tools")
sys.modules["hermes_tools"] = module
exec(compile(take(int.from_bytes(take(4), "big")).decode(), "hermes_tools.py", "exec"), module.__dict__)
module._run(connection, path)
"""  # noqa: E501 - one line each, so that an old Python gets as far as the third


def start_command(interpreter: str, descriptor: int, *, isolated: bool) -> str:
    """The shell command that starts `interpreter` with a program that it gets by the inherited `descriptor`.

    Args:
        isolated: neither the directory nor the user's own packages are looked into for modules.
    """
    options = "-I -c" if isolated else "-c"
    return f"exec {shlex.quote(interpreter)} {options} {shlex.quote(_START.format(descriptor=descriptor))}"


def asked_command(interpreter: str, code: str) -> str:
    """The same program as a command that says all that it does: for the person to read, and for rules to judge."""
    end = "PROGRAM"
    while end in code:
        end += "_"
    return f"{shlex.quote(interpreter)} - <<'{end}'\n{code.rstrip(chr(10))}\n{end}"


def framed(data: bytes) -> bytes:
    """A message as it goes over the socket."""
    return SIZE.pack(len(data)) + data


@functools.cache
def client_text() -> str:
    """The text of the module `hermes_tools`, without the functions that the session offers."""
    return Path(__file__).with_name("client.py").read_text("utf-8")


# The answers.

log = logging.getLogger(__name__)

_AT_ONCE = 8
# So many calls beyond the limit are answered; after them the program is not listened to any more.
_MOST_REFUSED = 50
# No tool has a longer name, and each is told to the model and kept.
_LONGEST_NAME = 100
_END_SECONDS = 5.0
_CANCELLED_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class _Request:
    id: int
    name: str
    arguments: Mapping[str, Any]
    is_allowed: bool = True


class _NotAMessage(ValueError):
    """What the program has sent is no call."""


class CallServer:
    """Serves one program from its start to its end.

    Whoever has the other end of the socket may call: the program, and nobody else, since it is handed down from
    parent to child and has no name. Messages are JSON and never more than that; what is none ends the connection.

    Args:
        connection: our end; the server closes it.
        first: what the program is sent before anything else.
        call: makes a call; from several threads.
        interrupt: the turn's.
    """

    def __init__(
        self,
        connection: socket.socket,
        first: Sequence[bytes],
        call: CallTool,
        limits: ProgramSettings,
        interrupt: Interrupt,
    ) -> None:
        self._socket = connection
        self._first = list(first)
        self._call = call
        self._limits = limits
        self._turn = interrupt
        # Ends the calls that are on their way when the program is over.
        self._over = NobodyWaits()
        self._sending = threading.Lock()
        self._reading = threading.Lock()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._begun = 0
        self._made: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to listen."""
        self._forget = self._turn.on_cancel(self._over.set)
        self._add_thread()

    def close(self) -> None:
        """The program is over: end its calls that are on their way, and wait for them for a moment."""
        self._forget()
        self._over.set()
        # Also wakes whoever waits for the program to write, or to read.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + (_CANCELLED_SECONDS if self._turn.is_set() else _END_SECONDS)
        with self._lock:
            threads = tuple(self._threads)
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            log.warning("a call of a program has not ended with it")
        self._socket.close()

    def made(self) -> Mapping[str, int]:
        """How many calls of which tool were made."""
        with self._lock:
            return dict(self._made)

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name="program call", daemon=True)
        with self._lock:
            self._threads.append(thread)
            self._idle += 1
        thread.start()

    def _serve(self) -> None:
        """One of several threads: one of them reads, and then makes the call itself, while the next one reads."""
        try:
            while (request := self._next()) is not None:
                self._answer(request)
                with self._lock:
                    self._idle += 1
        except ToolInterrupted:
            return
        except OSError:
            return  # the program has ended
        except _NotAMessage as problem:
            log.warning("a program sent what is no call, and is not listened to any more: %s", problem)
            self._over.set()
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _next(self) -> _Request | None:
        """The next call; None at the end."""
        with self._reading:
            if self._over.is_set():
                return None
            while self._first:
                self._socket.sendall(framed(self._first.pop(0)))
            head = self._take(SIZE.size)
            if head is None:
                return None
            (size,) = SIZE.unpack(head)
            if size > self._limits.max_message_bytes:
                raise _NotAMessage(f"it has {size:,} bytes, of at most {self._limits.max_message_bytes:,}")
            message = self._take(size)
            if message is None:
                return None
            request = self._counted(_request(message))
        with self._lock:
            self._idle -= 1
            is_last = not self._idle and len(self._threads) < _AT_ONCE
        if is_last:
            self._add_thread()
        return request

    def _counted(self, request: _Request) -> _Request:
        with self._lock:
            self._begun += 1
            if self._begun > self._limits.max_calls + _MOST_REFUSED:
                raise _NotAMessage(f"more than {self._begun - 1} calls")
            if self._begun > self._limits.max_calls:
                return replace(request, is_allowed=False)
            self._made[request.name] += 1
            return request

    def _answer(self, request: _Request) -> None:
        try:
            answer = self._answered(request) if request.is_allowed else _failed(self._too_many())
        except ToolInterrupted:
            raise
        except Exception:
            # The program must not wait for ever for what went wrong here.
            log.exception("a program's call of %s failed", request.name)
            answer = _failed(f"The call of {request.name} failed in this agent; its log says more.")
        data = _encoded(request, answer)
        if len(data) > self._limits.max_message_bytes:
            why = f"{request.name} gave {len(data):,} bytes, which is too much for one answer: ask for less."
            data = _encoded(request, _failed(why))
        with self._sending:
            self._socket.sendall(framed(data))

    def _answered(self, request: _Request) -> dict[str, Any]:
        return answer_of(self._call(request.name, request.arguments, self._over))

    def _too_many(self) -> str:
        return (
            f"This program has made its {self._limits.max_calls} calls, which is the most that one may make: nothing "
            "was done. Print what you have, and go on in another program."
        )

    def _take(self, count: int) -> bytes | None:
        """So many bytes; None at the end of the connection."""
        parts: list[bytes] = []
        while count:
            part = self._socket.recv(min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def answer_of(result: ToolResult) -> dict[str, Any]:
    """What a program gets of a result: its values, or why there are none."""
    value = _value(result)
    if result.failed and isinstance(value.get("error"), str):
        return _failed(value["error"], denied=result.denied)
    return {"result": value}


def _value(result: ToolResult) -> Mapping[str, Any]:
    if result.value is not None:
        return result.value()
    try:
        value = json.loads(result.text)
    except (ValueError, RecursionError):
        said = reason_of(result.text)
        return {"error": said} if result.failed and said != result.text else {"output": result.text}
    return value if isinstance(value, dict) else {"output": value}


def _encoded(request: _Request, answer: Mapping[str, Any]) -> bytes:
    return json.dumps({"id": request.id, **answer}, default=str).encode()


def _failed(why: str, *, denied: bool = False) -> dict[str, Any]:
    return {"error": why, "denied": denied}


def _is_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and name.isidentifier()


def _request(message: bytes) -> _Request:
    try:
        value = json.loads(message)
    except (ValueError, RecursionError) as problem:
        raise _NotAMessage("it is no JSON") from problem
    match value:
        case {"id": int(number), "name": str(name), "arguments": dict(arguments)} if _is_name(name):
            return _Request(number, name, arguments)
    raise _NotAMessage("it is no call")
