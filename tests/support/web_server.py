"""A loopback HTTP server with pages of the test's own, and a web for tools that reaches it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_core.cancel import CancelToken
from tests.support.tool_context import make_context
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.approval.questions import Approver, NobodyToAsk
from tools.context import LatePorts, ToolContext
from tools.environments.http_client import Ask, EngineSearch, GatedWeb, HttpWeb, ask_engines
from tools.environments.http_connect import LookUp, look_up
from tools.settings import ToolSettings, WebSettings
from tools.toolsets import load_builtin_tools

Answer = Callable[["Exchange"], None]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Exchange:
    """One request, and the ways to answer it."""

    request: Request
    handler: BaseHTTPRequestHandler
    stopping: threading.Event

    def send(self, body: bytes = b"", content_type: str = "", status: int = 200, **headers: str) -> None:
        self.head(status, **{"Content-Length": str(len(body))}, content_type=content_type, **headers)
        self.write(body)

    def head(self, status: int = 200, *, content_type: str = "", **headers: str) -> None:
        self.handler.send_response(status)
        if content_type:
            self.handler.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def write(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.handler.wfile.flush()

    def hold(self) -> None:
        """Say nothing more until the server ends."""
        self.stopping.wait(20)


class WebServer:
    """Serves `pages` (path → bytes, or a function that answers) and remembers what was asked."""

    def __init__(
        self,
        pages: Mapping[str, bytes | Answer] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.pages: dict[str, bytes | Answer] = dict(pages or {})
        self.requests: list[Request] = []
        self.heard = threading.Event()
        self._stopping = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with contextlib.suppress(OSError):
                    outer._answer(self)

            do_POST = do_GET  # noqa: N815 - the library's name

            def log_message(self, *_: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = False

            def handle_error(self, *_: Any) -> None:
                return  # clients that hang up are part of the tests

        self._server = Server((host, 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self.scheme = "https" if tls else "http"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="web-server")
        self._thread.start()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        request = Request(handler.command, handler.path, dict(handler.headers.items()), body)
        self.requests.append(request)
        self.heard.set()
        exchange = Exchange(request, handler, self._stopping)
        page = self.pages.get(handler.path) or self.pages.get(handler.path.partition("?")[0])
        if page is None:
            exchange.send(b"nothing here", "text/plain", 404)
        elif isinstance(page, bytes):
            exchange.send(page, "text/html; charset=utf-8")
        else:
            page(exchange)


def redirect(location: str, status: int = 302) -> Answer:
    return lambda exchange: exchange.send(status=status, Location=location)


def typed(body: bytes, content_type: str, **headers: str) -> Answer:
    return lambda exchange: exchange.send(body, content_type, **headers)


def no_network(host: str, port: int) -> list[str]:
    raise OSError(f"this test does not look up {host}")


@dataclass
class WebBench:
    """The web behind a gate, as one call has it."""

    settings: WebSettings = field(default_factory=WebSettings)
    approver: Approver = field(default_factory=NobodyToAsk)
    mode: Mode = "default"
    find: LookUp = look_up
    ask: Ask = ask_engines
    token: CancelToken = field(default_factory=CancelToken)
    trust: Callable[[], ssl.SSLContext] | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)

    def web(self) -> GatedWeb:
        approvals = Approvals(Rules(roots=(Path("/srv/project"),)), self.mode, self.approver)
        gate = Gate(approvals, "call-1", self.token, on_allowed=lambda _action: None)
        inner = HttpWeb(self.settings, trust=self.trust, find=self.find, proxies=self.proxies)
        return GatedWeb(inner, EngineSearch(self.ask), gate, self.settings)

    def context(self, cwd: Path) -> ToolContext:
        load_builtin_tools()
        ctx = make_context(cwd, interrupt=self.token, settings=ToolSettings(web=self.settings))
        return replace(ctx, late=LatePorts(web=self.web), output_file=cwd / "outputs" / "call-1.txt")
