"""A loopback server that answers Bedrock's ConverseStream, in Amazon's binary framing of event streams."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

from tests.support.model_replies import Gate, Recorded, Status, ToolCall

SECRET = "wJalr/secret/0123456789"
EVENT_STREAM = "application/vnd.amazon.eventstream"
_STRING = 7


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer of these frames; `then` it ends, is cut, or goes silent. A `gate` stands before the last frame."""

    frames: Sequence[bytes] = ()
    then: Literal["end", "cut", "silence"] = "end"
    content_type: str = EVENT_STREAM
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """Not even headers."""


Answer = Stream | Silence | Status


def frame(kind: str, payload: Any, message: str = "event") -> bytes:
    """One message of an event stream; `payload` is JSON, or raw bytes."""
    name = {"event": ":event-type", "exception": ":exception-type", "error": ":error-code"}[message]
    headers = {name: kind, ":content-type": "application/json", ":message-type": message}
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return framed(b"".join(_header(key, value) for key, value in headers.items()), body)


def framed(headers: bytes, body: bytes) -> bytes:
    """Prelude, its checksum, headers, body, the whole's checksum."""
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    whole = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + body
    return whole + struct.pack("!I", zlib.crc32(whole))


def reply(
    text: str = "",
    tool_calls: Sequence[ToolCall] = (),
    *,
    reasoning: Sequence[Mapping[str, Any]] = (),
    stop: str = "",
    usage: Mapping[str, int] | None = None,
) -> list[bytes]:
    """The frames of a whole answer; `reasoning` are the deltas of one block of it."""
    blocks: list[list[bytes]] = []
    if reasoning:
        blocks.append([delta(len(blocks), {"reasoningContent": dict(piece)}) for piece in reasoning])
    if text:
        blocks.append([delta(len(blocks), {"text": text})])
    for call in tool_calls:
        begun = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        start = frame("contentBlockStart", {"contentBlockIndex": len(blocks), "start": begun})
        blocks.append([start, delta(len(blocks), {"toolUse": {"input": call.arguments_text}})])
    frames = [frame("messageStart", {"role": "assistant"})]
    for index, block in enumerate(blocks):
        frames += [*block, frame("contentBlockStop", {"contentBlockIndex": index})]
    counted = usage or {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    return [
        *frames,
        frame("messageStop", {"stopReason": stop or ("tool_use" if tool_calls else "end_turn")}),
        frame("metadata", {"usage": dict(counted), "metrics": {"latencyMs": 1}}),
    ]


def delta(index: int, content: Mapping[str, Any]) -> bytes:
    return frame("contentBlockDelta", {"contentBlockIndex": index, "delta": dict(content)})


def _parsed(raw: bytes) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(raw)
    return None


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return bytes([len(key)]) + key + bytes([_STRING]) + struct.pack("!H", len(text)) + text


class BedrockServer:
    """Answers each request with the next of the script."""

    def __init__(self, *script: Answer) -> None:
        self._script = list(script)
        self._changed = threading.Condition()
        self._requests: list[Recorded] = []
        self.errors: list[BaseException] = []
        self._http = _HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.005,), name="bedrock-server")
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def requests(self) -> list[Recorded]:
        with self._changed:
            return list(self._requests)

    def add(self, *answers: Answer) -> None:
        with self._changed:
            self._script.extend(answers)

    def wait_for_request(self, count: int = 1) -> Recorded:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._requests) >= count, 10), "no request arrived"
            return self._requests[count - 1]

    def accept(self, handler: BaseHTTPRequestHandler) -> tuple[Recorded, Answer]:
        raw = handler.rfile.read(int(handler.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._changed:
            number, port = len(self._requests) + 1, handler.client_address[1]
            request = Recorded(number, port, handler.command, handler.path, headers, raw, _parsed(raw))
            self._requests.append(request)
            answer = self._script.pop(0) if self._script else Status(400, {"message": "the test has no such answer"})
            self._changed.notify_all()
        return request, answer

    def close(self) -> None:
        self._http.stop()
        self._thread.join()
        if self.errors:
            raise AssertionError(f"the fake Bedrock server failed: {self.errors!r}") from self.errors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, owner: BedrockServer) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        problem = sys.exc_info()[1]
        # Clients that leave are what the tests are about.
        if problem is not None and not isinstance(problem, ConnectionError):
            self.owner.errors.append(problem)

    def stop(self) -> None:
        self.shutdown()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One write a frame: with Nagle's delay each would wait for the client's acknowledgement of the one before.
    disable_nagle_algorithm = True
    server: _HttpServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        pass

    def do_POST(self) -> None:
        request, answer = self.server.owner.accept(self)
        try:
            self._answer(request, answer)
        except ConnectionError:
            request.disconnected.set()
            self.close_connection = True

    def _answer(self, request: Recorded, answer: Answer) -> None:
        match answer:
            case Silence():
                self._wait_for_the_end(request)
            case Status():
                kind, body = answer.content()
                self._begin(answer.code, {"Content-Type": kind, "Content-Length": str(len(body)), **answer.headers})
                self.wfile.write(body)
            case Stream():
                self._begin(200, {"Content-Type": answer.content_type, "Transfer-Encoding": "chunked"})
                for number, sent in enumerate(answer.frames, 1):
                    if answer.gate is not None and number == len(answer.frames):
                        answer.gate.reached.set()
                        answer.gate.wait(10)
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(sent), sent))
                self._finish(request, answer)

    def _finish(self, request: Recorded, answer: Stream) -> None:
        if answer.then == "end":
            self.wfile.write(b"0\r\n\r\n")
        elif answer.then == "silence":
            self._wait_for_the_end(request)
        else:
            self.close_connection = True

    def _begin(self, code: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _wait_for_the_end(self, request: Recorded) -> None:
        with contextlib.suppress(OSError):
            self.connection.recv(1)
        request.disconnected.set()
        self.close_connection = True
