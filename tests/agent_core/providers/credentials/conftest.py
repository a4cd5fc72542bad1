"""Other processes, a clock that is set by hand, and a token endpoint."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from agent_core.providers.credentials.token_store import FILE_NAME, TokenStore

ROOT = Path(__file__).parents[4]
NOW = 1_800_000_000.0


class Clock:
    """Seconds since 1970 that pass when the test says so."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Other:
    """A Python process that runs a script; it is talked to in lines."""

    def __init__(self, script: str, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """The next line that it prints."""
        return self._process.stdout.readline().strip()

    def go_on(self) -> None:
        """Send it a line."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def result(self) -> str:
        """The rest of what it prints, once it has ended well."""
        rest, _ = self._process.communicate(timeout=30)
        assert self._process.returncode == 0
        return rest.strip()

    def wait(self) -> int:
        """Its exit status."""
        return self._process.wait(30)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(30)
        self._process.stdin.close()
        self._process.stdout.close()


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


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def other():
    """Start a Python process with a script and its arguments."""
    started = []

    def start(script: str, *arguments: object) -> Other:
        started.append(Other(script, *arguments))
        return started[-1]

    yield start
    for process in started:
        process.stop()


@pytest.fixture
def endpoint():
    server = TokenEndpoint()
    yield server
    server.close()


@pytest.fixture
def tokens_file(home):
    return home / FILE_NAME


@pytest.fixture
def store(tokens_file):
    return TokenStore(tokens_file)
