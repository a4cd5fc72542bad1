"""What the fake model server can answer, and how an answer looks as Chat Completions chunks."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Delta = dict[str, Any]


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

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning, "audio_tokens": 0},
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer.

    `split` cuts text, reasoning and arguments into deltas of that many characters (0: one delta each); the deltas of
    parallel tool calls then alternate. A `gate` holds the stream back before delta number `gate_after`.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: Sequence[ToolCall] = ()
    split: int = 0
    usage: Usage | None = field(default_factory=Usage)
    finish_reason: Literal["stop", "tool_calls", "length", "content_filter"] | None = None
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    gate: Gate | None = None
    gate_after: int = 0

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


Answer = Reply | Status | Hang | Disconnect | Garbage
Scripted = Answer | Callable[[Recorded], Answer]


def deltas(reply: Reply) -> list[Delta]:
    """The answer as a stream of deltas, without its opening and its end."""
    found: list[Delta] = [{reply.reasoning_field: piece} for piece in _pieces(reply.reasoning, reply.split)]
    found += [{"content": piece} for piece in _pieces(reply.text, reply.split)]
    found += [_call_delta(index, call) for index, call in enumerate(reply.tool_calls)]
    streams = [_pieces(call.arguments_text, reply.split) for call in reply.tool_calls]
    for round_number in range(max(map(len, streams), default=0)):
        found += [
            {"tool_calls": [{"index": index, "function": {"arguments": pieces[round_number]}}]}
            for index, pieces in enumerate(streams)
            if round_number < len(pieces)
        ]
    return found


def chunk(model: str, number: int, delta: Delta, finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _envelope(model, number, "chat.completion.chunk") | {"choices": [choice]}


def usage_chunk(model: str, number: int, usage: Usage) -> dict[str, Any]:
    return _envelope(model, number, "chat.completion.chunk") | {"choices": [], "usage": usage.as_json()}


def completion(model: str, number: int, reply: Reply) -> dict[str, Any]:
    """The same answer for a client that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.reasoning:
        message[reply.reasoning_field] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_text}}
            for call in reply.tool_calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.ending}
    whole = _envelope(model, number, "chat.completion") | {"choices": [choice]}
    return whole | ({"usage": reply.usage.as_json()} if reply.usage else {})


def _envelope(model: str, number: int, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000, "model": model}


def _call_delta(index: int, call: ToolCall) -> Delta:
    function = {"name": call.name, "arguments": ""}
    return {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}


def _pieces(text: str, size: int) -> list[str]:
    return list(_cut(text, size or len(text) or 1))


def _cut(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
