"""What the fake model server can answer, in no protocol's words."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

_HALF_PAIR = re.compile("[\ud800-\udbff\udc00-\udc7f\udd00-\udfff]")


class Gate(threading.Event):
    """Holds a reply back until the test sets it; `reached` tells that the server stands before it."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self._waiting: list[socket.socket] = []
        self._lock = threading.Lock()

    def set(self) -> None:
        with self._lock:
            super().set()
            for waiting in self._waiting:
                waiting.send(b"\0")
            self._waiting.clear()

    def wake_by(self, wake: socket.socket) -> None:
        """Write a byte to `wake` once the gate is open."""
        with self._lock:
            if self.is_set():
                wake.send(b"\0")
            else:
                self._waiting.append(wake)

    def forget(self, wake: socket.socket) -> None:
        with self._lock:
            if wake in self._waiting:
                self._waiting.remove(wake)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call; `arguments` is an object, or the JSON text itself (to send broken JSON)."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)

    @property
    def arguments_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Usage:
    prompt: int = 10
    completion: int = 5
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer.

    `finish_reason` is in the words of Chat Completions; other protocols use their own for it. A word that is none of
    those is sent as it is, in the Responses protocol as the response's status.

    `split` cuts text, reasoning and arguments into deltas of that many characters (0: one delta each); the deltas of
    parallel tool calls then alternate. A `gate` holds the stream back before delta number `gate_after`,
    and `pace` is taken before each delta: whoever releases it lets one more through.
    `sealed_reasoning` is what protocols that seal or sign reasoning send with it.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[ToolCall] = ()
    split: int = 0
    usage: Usage | None = field(default_factory=Usage)
    finish_reason: str | None = None
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    gate: Gate | None = None
    gate_after: int = 0
    pace: threading.Semaphore | None = None
    sealed_reasoning: str = ""

    @property
    def ending(self) -> str:
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error; `body` is sent as JSON, or as it is when it is text."""

    code: int
    body: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    gate: Gate | None = None

    def content(self) -> tuple[str, bytes]:
        if isinstance(self.body, str):
            return "text/plain", self.body.encode()
        body = self.body or {"error": {"message": f"status {self.code}", "type": "error", "code": str(self.code)}}
        return "application/json", json.dumps(body).encode()


@dataclass(frozen=True, slots=True)
class Hang:
    """Goes silent until the client leaves: before the headers, or after `after` deltas of `reply`."""

    reply: Reply = field(default_factory=Reply)
    after: int = 0
    before_headers: bool = False


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Cuts the connection: before the headers, or after `after` deltas of `reply`."""

    reply: Reply = field(default_factory=Reply)
    after: int = 0
    before_headers: bool = False


@dataclass(frozen=True, slots=True)
class Garbage:
    """A 200 whose body is no event stream that anyone could read."""

    body: bytes = b'data: {"choices": [{"delta": {"conte\n\ndata: \xff\xfe\n\n'
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived.

    Header names are in small letters, `connection` is the client's port, and `disconnected` is set when the client
    left before its answer was complete.
    """

    number: int
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Any
    disconnected: threading.Event = field(default_factory=threading.Event)

    @property
    def model(self) -> str:
        return str(self.body.get("model", "")) if isinstance(self.body, dict) else ""

    @property
    def wants_stream(self) -> bool:
        # Bedrock's address says it.
        return isinstance(self.body, dict) and (bool(self.body.get("stream")) or "response-stream" in self.path)


Answer = Reply | Status | Hang | Disconnect | Garbage
Scripted = Answer | Callable[[Recorded], Answer]


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer as server-sent events, cut where a test may cut it: `deltas` are the pieces that tests count."""

    opening: Sequence[bytes]
    deltas: Sequence[bytes]
    ending: Sequence[bytes]


class ServerDialect(Protocol):
    """How one wire protocol writes an answer."""

    path: str

    def streamed(self, request: Recorded, reply: Reply) -> Streamed: ...

    def whole(self, request: Recorded, reply: Reply) -> dict[str, Any]:
        """The same for a client that did not ask for a stream."""
        ...


def event(payload: Mapping[str, Any] | str, name: str = "") -> bytes:
    """A server-sent event; halves of surrogate pairs are escapes, \\udc80 to \\udcff bytes that are not UTF-8."""
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    data = _HALF_PAIR.sub(lambda half: f"\\u{ord(half[0]):04x}", data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode("utf-8", "surrogateescape")


def pieces(text: str, size: int) -> list[str]:
    return list(_cut(text, size or len(text) or 1))


def _cut(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
