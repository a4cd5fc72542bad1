"""A loopback server that answers model requests from a script of replies, in the protocol of the request's path."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import sys
import threading
from collections import deque
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.model_dialects import dialect_for
from tests.support.model_replies import (
    Answer,
    Disconnect,
    Garbage,
    Gate,
    Hang,
    Recorded,
    Reply,
    Scripted,
    ServerDialect,
    Status,
    ToolCall,
    Usage,
)
from tests.support.waiting import PATIENCE

__all__ = [
    "Disconnect",
    "Garbage",
    "Gate",
    "Hang",
    "ModelServer",
    "Recorded",
    "Reply",
    "Status",
    "ToolCall",
    "Usage",
]

MODELS = ("test-model", "other-model")


class ClientGone(ConnectionError):
    """The client closed its connection while its answer was not complete."""


class ModelServer:
    """Answers each completion request with the next reply of the script; `default` once the script is used up.

    It keeps all requests, or only the last so many (`keep`), so that a long run does not fill the memory.
    """

    def __init__(self, *script: Scripted, default: Scripted | None = None, keep: int | None = None) -> None:
        self._script = list(script)
        self._default = default
        self._changed = threading.Condition()
        self._requests: deque[Recorded] = deque(maxlen=keep)
        self._arrived = 0
        # What the server answers on other paths than those of completions: JSON, or what makes it.
        self.pages: dict[str, Any] = {}
        self.asked_pages: list[tuple[str, str, dict[str, str]]] = []
        self.disconnected = threading.Event()
        self.errors: list[BaseException] = []
        self._http = _HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="model-server")
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def requests(self) -> list[Recorded]:
        """The completion requests that are kept, in the order of their arrival."""
        with self._changed:
            return list(self._requests)

    def add(self, *replies: Scripted) -> None:
        with self._changed:
            self._script.extend(replies)

    def wait_for_request(self, count: int = 1, timeout: float = PATIENCE) -> Recorded:
        """Block until `count` requests have arrived; the last of them."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._arrived >= count, timeout):
                raise AssertionError(f"{self._arrived} of {count} model requests arrived in {timeout} s")
            return self._requests[count - 1 - self._arrived]

    async def arrived(self, count: int = 1, timeout: float = PATIENCE) -> Recorded:  # noqa: ASYNC109 - one spelling for both
        """The same for a test that runs on the event loop."""
        return await asyncio.to_thread(self.wait_for_request, count, timeout)

    def accept(self, handler: BaseHTTPRequestHandler, raw: bytes) -> tuple[Recorded, Answer]:
        """Record a request and choose its answer."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        port = handler.client_address[1]
        with self._changed:
            self._arrived = number = self._arrived + 1
            request = Recorded(number, port, handler.command, handler.path, headers, raw, _parsed(raw))
            self._requests.append(request)
            scripted = self._script.pop(0) if self._script else self._default
            self._changed.notify_all()
        if scripted is None:
            return request, _unscripted(number)
        return request, scripted(request) if callable(scripted) else scripted

    def lost(self, request: Recorded) -> None:
        request.disconnected.set()
        self.disconnected.set()

    def close(self) -> None:
        self._http.stop()
        self._thread.join()
        if self.errors:
            raise AssertionError(f"the fake model server failed: {self.errors!r}") from self.errors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _HttpServer(ThreadingHTTPServer):
    # The threads are joined at close, so that a test never leaves one behind.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, owner: ModelServer) -> None:
        self.owner = owner
        self.stopping = False
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.errors.append(error)

    def stop(self) -> None:
        self.stopping = True
        self.shutdown()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        pass

    def _page(self) -> bool:
        """Answer with a page of the test's, if there is one."""
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        owner.asked_pages.append((self.command, self.path, headers))
        page = owner.pages.get(self.path)
        if page is None:
            return False
        self._send(200, "application/json", json.dumps(page() if callable(page) else page).encode())
        return True

    def do_GET(self) -> None:
        if self._page():
            return
        if self.path.split("?")[0] != "/v1/models":
            self._send(404, "text/plain", b"no such path")
            return
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in MODELS]
        self._send(200, "application/json", json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if len(raw) < int(self.headers.get("Content-Length", "0")):
            self.close_connection = True  # the client left before its request was complete
            return
        dialect = dialect_for(self.path)
        if dialect is None:
            if self._page():
                return
            self._send(404, "text/plain", b"no such path")
            return
        owner = self.server.owner
        request, answer = owner.accept(self, raw)
        try:
            self._answer(dialect, request, answer)
        except ConnectionError:
            self.close_connection = True
            if not self.server.stopping:
                owner.lost(request)

    def _answer(self, dialect: ServerDialect, request: Recorded, answer: Answer) -> None:
        match answer:
            case Status():
                self._wait(answer.gate)
                self._send(answer.code, *answer.content(), extra=dict(answer.headers))
            case Garbage():
                self._send(200, answer.content_type, answer.body)
            case Hang(before_headers=True):
                self._wait_for_the_end()
            case Disconnect(before_headers=True):
                self._cut()
            case Hang():
                self._stream(dialect, request, answer.reply, until=answer.after)
                self._wait_for_the_end()
            case Disconnect():
                self._stream(dialect, request, answer.reply, until=answer.after)
                self._cut()
            case Reply() if request.wants_stream:
                self._stream(dialect, request, answer)
            case Reply():
                self._wait(answer.gate)
                self._send(200, "application/json", json.dumps(dialect.whole(request, answer)).encode())

    def _stream(self, dialect: ServerDialect, request: Recorded, reply: Reply, until: int | None = None) -> None:
        """The reply as server-sent events; with `until`, only so many deltas of it and no end."""
        answer = dialect.streamed(request, reply)
        self._begin_stream(getattr(dialect, "content_type", "text/event-stream; charset=utf-8"))
        self._events(answer.opening)
        for index, delta in enumerate(answer.deltas[:until]):
            if index == reply.gate_after:
                self._wait(reply.gate)
            if reply.pace is not None and not reply.pace.acquire(timeout=PATIENCE):
                raise ClientGone
            self._events([delta])
        if until is not None:
            return
        if reply.gate_after >= len(answer.deltas):
            self._wait(reply.gate)
        self._events(answer.ending[:-1])
        # In one piece, so that a client that stops at the last event has the end of the body already.
        self.wfile.write(_http_chunk(answer.ending[-1]) + b"0\r\n\r\n")

    def _begin_stream(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _events(self, events: Sequence[bytes]) -> None:
        for event in events:
            self.wfile.write(_http_chunk(event))

    def _send(self, code: int, content_type: str, body: bytes, extra: dict[str, str] | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _cut(self) -> None:
        self.close_connection = True
        _hang_up(self.connection)

    def _wait_for_the_end(self) -> None:
        self._wait(Gate())

    def _wait(self, gate: Gate | None) -> None:
        """Until the gate opens.

        Raises:
            ClientGone: the client left first (or the server closes).
        """
        if gate is None:
            return
        ours, theirs = socket.socketpair()
        with ours, theirs:
            gate.wake_by(theirs)
            gate.reached.set()
            poll = select.poll()
            poll.register(ours, select.POLLIN)
            poll.register(self.connection, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll()}
            gate.forget(theirs)
            if ours.fileno() not in ready:
                raise ClientGone


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _hang_up(connection: socket.socket) -> None:
    # The client may have been faster.
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _unscripted(number: int) -> Status:
    text = f"the test's script has no reply for model request {number}"
    return Status(400, {"error": {"message": text, "type": "invalid_request_error", "code": "unscripted"}})
