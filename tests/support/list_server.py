"""A loopback server with fixed answers to GET requests: for lists of models, and for what is no model server."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Fixed:
    """An answer: JSON, or bytes as they are. `cut` leaves the body's last byte out, `drip` adds to it for ever."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    drip: bool = False


@dataclass(frozen=True)
class Silence:
    """The server reads the request and never answers."""


@dataclass(frozen=True)
class Asked:
    """A request that came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]


def model_list(*names: str, **more: Any) -> Fixed:
    """A list as OpenAI's API gives it; `more` is added to each entry."""
    return Fixed({"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]})


class ListServer:
    """Answers `GET path` with `answers[path]`, whose path may have a query; 404 for all else."""

    def __init__(self, answers: Mapping[str, Fixed | Silence]) -> None:
        self.answers = dict(answers)
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.errors: list[BaseException] = []
        self._http = _HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="list-server")
        self._thread.start()

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self.errors:
            raise AssertionError(f"the list server failed: {self.errors!r}") from self.errors[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, owner: ListServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.owner.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        pass

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
        match owner.answers.get(self.path, Fixed(b"not found", 404)):
            case Silence():
                owner.closing.wait()
            case Fixed() as answer:
                self._send(answer)

    def _send(self, answer: Fixed) -> None:
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        if not answer.drip:
            self.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:-1] if answer.cut else body)
        while answer.drip and not self.server.owner.closing.wait(0.01):
            self.wfile.write(b" ")
