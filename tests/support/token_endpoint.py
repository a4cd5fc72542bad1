"""A loopback token endpoint (RFC 6749), as the renewing of sign-ins meets it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl


class TokenEndpoint:
    """Answers each form with what `answer` makes of it: a status and JSON, or bytes, or bytes one after another."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Semaphore(0)
        self.answer: Callable[[dict[str, str]], tuple[int, object]] = lambda form: (200, {"access_token": "new"})
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                endpoint.paths.append(self.path)
                endpoint.forms.append(dict(parse_qsl(body)))
                endpoint.asked.release()
                endpoint.gate.wait(20)
                status, content = endpoint.answer(endpoint.forms[-1])
                try:
                    self.send_response(status)
                    self.end_headers()  # the answer's end is the connection's
                    for data in _chunks(content):
                        self.wfile.write(data)
                except ConnectionError:  # the client went away, as it was to
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/oauth/token"

    def wait_for_request(self) -> None:
        assert self.asked.acquire(timeout=20), "the token endpoint was not asked"

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _chunks(content: object) -> Iterator[bytes]:
    if isinstance(content, Iterator):
        yield from content
    else:
        yield content if isinstance(content, bytes) else json.dumps(content).encode()
