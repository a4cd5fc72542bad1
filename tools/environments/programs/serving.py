"""Answers the calls that a program makes, one message each, over the socket that it has inherited."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from tools.context import Interrupt
from tools.environments.programs.starting import SIZE, framed
from tools.environments.sandbox_network.gone import NobodyWaits
from tools.errors import ToolInterrupted
from tools.programs.port import CallTool
from tools.programs.settings import ProgramSettings
from tools.result import ToolResult

log = logging.getLogger(__name__)

_AT_ONCE = 8
# So many calls beyond the limit are answered; after them the program is not listened to any more.
_MOST_REFUSED = 50
_END_SECONDS = 5.0
_CANCELLED_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class _Request:
    id: int
    name: str
    arguments: Mapping[str, Any]


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
        self._first = first
        self._call = call
        self._limits = limits
        self._turn = interrupt
        # Ends the calls that are on their way when the program is over.
        self._over = NobodyWaits()
        self._sending = threading.Lock()
        self._room = threading.Semaphore(_AT_ONCE)
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="program call")
        self._reader = threading.Thread(target=self._serve, name="program calls", daemon=True)
        self._running: set[Future[None]] = set()
        self._lock = threading.Lock()
        self._made: Counter[str] = Counter()
        self._begun = 0

    def start(self) -> None:
        """Begin to listen."""
        self._forget = self._turn.on_cancel(self._over.set)
        self._reader.start()

    def close(self) -> None:
        """The program is over: end its calls that are on their way, and wait for them for a moment."""
        self._forget()
        self._over.set()
        # Also wakes whoever waits for the program to read.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._room.release()
        patience = _CANCELLED_SECONDS if self._turn.is_set() else _END_SECONDS
        self._reader.join(patience)
        with self._lock:
            running = set(self._running)
        _, left = wait(running, patience)
        if left:
            log.warning("%d calls of a program have not ended with it", len(left))
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._socket.close()

    def made(self) -> Mapping[str, int]:
        """How many calls of which tool were made."""
        with self._lock:
            return dict(self._made)

    def _serve(self) -> None:
        try:
            for message in self._first:
                self._socket.sendall(framed(message))
            for request in self._requests():
                self._room.acquire()
                if self._over.is_set():
                    return
                self._begin(request)
        except _NotAMessage as problem:
            log.warning("a program sent what is no call, and is not listened to any more: %s", problem)
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has ended

    def _requests(self) -> Iterator[_Request]:
        while (head := self._take(SIZE.size)) is not None:
            (size,) = SIZE.unpack(head)
            if size > self._limits.max_message_bytes:
                raise _NotAMessage(
                    f"a message of {size:,} bytes; at most {self._limits.max_message_bytes:,} are read"
                )
            message = self._take(size)
            if message is None:
                return
            yield _request(message)

    def _begin(self, request: _Request) -> None:
        with self._lock:
            self._begun += 1
            if self._begun > self._limits.max_calls + _MOST_REFUSED:
                raise _NotAMessage(f"more than {self._begun - 1} calls")
            is_allowed = self._begun <= self._limits.max_calls
            if is_allowed:
                self._made[request.name] += 1
            running = self._pool.submit(self._answer, request, is_allowed=is_allowed)
            self._running.add(running)
        running.add_done_callback(self._ended)

    def _ended(self, running: Future[None]) -> None:
        with self._lock:
            self._running.discard(running)
        self._room.release()

    def _answer(self, request: _Request, *, is_allowed: bool) -> None:
        try:
            answer = self._answered(request) if is_allowed else _failed(self._too_many())
        except ToolInterrupted:
            return
        except Exception:
            # The program must not wait for ever for what went wrong here.
            log.exception("a program's call of %s failed", request.name)
            answer = _failed(f"The call of {request.name} failed in this agent; its log says more.")
        data = _encoded(request, answer)
        if len(data) > self._limits.max_message_bytes:
            why = f"{request.name} gave {len(data):,} bytes, which is too much for one answer: ask for less."
            data = _encoded(request, _failed(why))
        try:
            with self._sending:
                self._socket.sendall(framed(data))
        except OSError:
            log.debug("a program did not take the answer to its call of %s", request.name)

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
    if result.value is not None and not result.failed:
        return result.value()
    try:
        value = json.loads(result.text)
    except (ValueError, RecursionError):
        return {"output": result.text}
    return value if isinstance(value, dict) else {"output": value}


def _encoded(request: _Request, answer: Mapping[str, Any]) -> bytes:
    return json.dumps({"id": request.id, **answer}, default=str).encode()


def _failed(why: str, *, denied: bool = False) -> dict[str, Any]:
    return {"error": why, "denied": denied}


def _request(message: bytes) -> _Request:
    try:
        value = json.loads(message)
    except (ValueError, RecursionError) as problem:
        raise _NotAMessage("it is no JSON") from problem
    match value:
        case {"id": int(number), "name": str(name), "arguments": dict(arguments)}:
            return _Request(number, name, arguments)
    raise _NotAMessage("it is no call")
