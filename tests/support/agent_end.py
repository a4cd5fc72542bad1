"""The agent's end of two pipes: a started transport, and a client with blocking calls."""

from __future__ import annotations

import fcntl
import json
import os
import select
import struct
import termios
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from acp_adapter.export.recording import Tap
from acp_adapter.jsonrpc import encode
from acp_adapter.transport import Stdio, Transport
from tests.support.waiting import PATIENCE
from tests.support.wire import WireRules


def unread(fd: int) -> int:
    """How many bytes wait in a pipe."""
    return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0])


class AgentEnd:
    """A transport on fresh pipes. `reader` and `writer` are the client's ends, `descriptors` the agent's;
    `over` tells that it has ended, `broken_rules` what it sent against the rules of the wire."""

    def __init__(self, transport: type[Transport] = Transport, **options: Any) -> None:
        agent_in, self.writer = os.pipe()
        self.reader, agent_out = os.pipe()
        self.descriptors = (agent_in, agent_out)
        self.over = threading.Event()
        self.broken_rules: list[str] = []
        self._rules = WireRules()
        self._lock = threading.Lock()
        self._past: set[str] = set()
        self._also_tap: Tap = options.pop("tap", None) or (lambda _, __: None)
        self.transport = transport(Stdio(agent_in, agent_out), on_over=self.over.set, tap=self._tap, **options)
        self._pour = self.transport.pour
        self.transport.pour = self._watched_pour  # type: ignore[method-assign]
        before = set(threading.enumerate())
        self.transport.start()
        self._threads = [thread for thread in threading.enumerate() if thread not in before]

    def _tap(self, direction: str, line: bytes) -> None:
        self._also_tap(direction, line)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        with self._lock:
            if direction == "out":
                self._rules.heard(message)
            else:
                self.broken_rules += self._rules.broken(message, past=_told(message.get("params")) in self._past)

    def _watched_pour(self, method: str, all_params: Iterable[Mapping[str, Any]]) -> None:
        """Tell the rules which updates are of what was: nothing on the wire does."""
        sessions: list[str] = []
        whole = False

        def noted() -> Iterator[Mapping[str, Any]]:
            for params in all_params:
                with self._lock:
                    sessions.append(params["sessionId"])
                    self._past.add(_told(json.loads(encode(params))))
                yield params

        try:
            self._pour(method, noted())
            whole = True
        finally:
            with self._lock:
                self._past.clear()
                for session_id in set(sessions):
                    self._rules.past_over(session_id, whole=whole)

    def close(self) -> None:
        """Give the agent's descriptors back; the client's must be closed."""
        # What still comes must not reach whoever is given these numbers next.
        assert self.transport.end(10), "the writer does not see that nobody reads"
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive(), f"{thread.name} does not see the end of its connection"
        for descriptor in self.descriptors:
            os.close(descriptor)


def _told(params: object) -> str:
    return json.dumps(params, sort_keys=True)


class RawClient:
    """Lines to a transport and from it."""

    def __init__(self, end: AgentEnd) -> None:
        self.end = end
        self.transport = end.transport
        self._rest = b""
        self._open = {end.reader, end.writer}

    def send(self, *messages: dict[str, Any]) -> None:
        """Write messages, all in one piece."""
        self.write(b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages))

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.end.writer, data) :]

    def read(self, timeout: float = PATIENCE) -> dict[str, Any]:
        """The next message of the agent."""
        line = self.read_line(timeout)
        message: dict[str, Any] = json.loads(line, parse_constant=_no_constants)
        return message

    def read_line(self, timeout: float = PATIENCE) -> bytes:
        deadline = time.monotonic() + timeout
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.end.reader], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"nothing came within {timeout} s; so far {self._rest[:400]!r}")
            data = os.read(self.end.reader, 1 << 20)
            if not data:
                raise AssertionError("the agent closed its output")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def close_input(self) -> None:
        """The agent sees the end of its input."""
        self._close(self.end.writer)

    def close_output(self) -> None:
        """The agent's next write finds nobody."""
        self._close(self.end.reader)

    def close(self) -> None:
        for descriptor in list(self._open):
            self._close(descriptor)
        self.end.close()

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


def _no_constants(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@contextmanager
def raw_client(**options: Any) -> Iterator[RawClient]:
    """A client of a fresh transport; the options are the transport's."""
    client = RawClient(AgentEnd(**options))
    try:
        yield client
    finally:
        client.close()
