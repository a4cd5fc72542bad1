"""A chat-completions server for measurements: a process of its own, sockets only, every long answer built beforehand.

The newest `plan=…` in a request's body says how to answer:

    plan=stream/20000/RUN      20,000 deltas of 8 bytes, as fast as they are read
    plan=drip/0/RUN            a delta every 5 ms until the reader is gone
    plan=paced/150/RUN         150 deltas, one every 20 ms; when each was sent can be asked for
    plan=read_file/50/RUN      50 requests are answered with a call of that tool each, the next one with text; runs of
                               fewer calls read different files
    plan=terminal/50/RUN       the same with a command that does nothing
    plan=limit/200/RUN         429, with 200 s to wait
    plan=silent/0/RUN          nothing, until the reader is gone
    plan=overloaded/1/RUN      1 request is answered with 503 and no word of waiting, the next one with text

`RUN` names the run; `GET /runs/RUN` tells when its requests had arrived (on the machine's monotonic clock), what
the first one said, and when paced deltas were sent. The server prints its port and ends with its standard input.
"""

from __future__ import annotations

import functools
import json
import re
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

_PLAN = re.compile(rb"plan=([a-z_]+)/(\d+)/(\w+)")
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_DRIP_SECONDS = 0.005
_DRIP_DELTAS = 4000
_PACE_SECONDS = 0.02
_FILES = 1000
_MANY_CALLS = 50


@dataclass(slots=True)
class Run:
    arrivals: list[float] = field(default_factory=list)
    first: bytes = b""
    sent: list[float] = field(default_factory=list)


runs: dict[str, Run] = {}


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=_accept, args=(listener,), daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=(connection,), daemon=True).start()


def _serve(connection: socket.socket) -> None:
    body = bytearray()
    with connection:
        try:
            while (request := _read_request(connection, body)) is not None:
                _answer(connection, *request, body)
        except ConnectionError:
            return  # the reader may go at any time


def _read_request(connection: socket.socket, body: bytearray) -> tuple[float, bytes] | None:
    """When the whole request was there, and its head; `body` is filled with its body. None at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(1 << 16)
        if not more:
            return None
        data += more
    head, _, begin = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    # The same memory each time: what the server takes for a long body is in no agent's figures.
    size = int(length[1]) if length else 0
    del body[size:]
    body += bytes(size - len(body))
    body[: len(begin)] = begin
    missing = memoryview(body)[len(begin) :]
    while missing:
        received = connection.recv_into(missing)
        if not received:
            return None
        missing = missing[received:]
    return time.monotonic(), head


def _answer(connection: socket.socket, arrived: float, head: bytes, body: bytearray) -> None:
    if head.startswith(b"GET /runs/"):
        connection.sendall(_report(head.split(b" ")[1].rpartition(b"/")[2].decode()))
        return
    # From the end: to search a long conversation would cost more than all else.
    plan = _PLAN.match(body, max(0, body.rfind(b"plan=")))
    if plan is None:  # a list of models, a side task: what this server does not have
        connection.sendall(_failure(b"404 Not Found"))
        return
    kind, count, name = plan.groups()
    run = runs.get(name.decode())
    if run is None:
        run = runs[name.decode()] = Run(first=bytes(body))
    run.arrivals.append(arrived)
    match kind:
        case b"drip":
            _drip(connection)
        case b"paced":
            _pace(connection, int(count), _number(name), run)
        case b"stream":
            connection.sendall(_text_stream(int(count)))
        case b"limit":
            connection.sendall(_failure(b"429 Too Many Requests", b"Retry-After: %b\r\n" % count))
        case b"silent":
            connection.recv(1)
        case _ if len(run.arrivals) > int(count):
            connection.sendall(_text_stream(1))
        case b"overloaded":
            connection.sendall(_failure(b"503 Service Unavailable"))
        case _:
            before = 0 if int(count) >= _MANY_CALLS else _number(name) * int(count)
            connection.sendall(_call_stream(kind.decode(), 1 + (before + len(run.arrivals) - 1) % _FILES))


def _report(name: str) -> bytes:
    run = runs.get(name, Run())
    body = json.dumps({"arrivals": run.arrivals, "first": run.first.decode(), "sent": run.sent}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def _drip(connection: socket.socket) -> None:
    connection.sendall(_STREAM)
    for number in range(_DRIP_DELTAS):
        connection.sendall(_event({"content": f"{number:07d} "}))
        time.sleep(_DRIP_SECONDS)


def _pace(connection: socket.socket, deltas: int, number: int, run: Run) -> None:
    """By the clock, not by pauses: what is late by a moment is followed in time. Runs have phases of their own."""
    connection.sendall(_STREAM)
    begin = time.monotonic() + number * _PACE_SECONDS / 32 % _PACE_SECONDS
    for delta in range(deltas):
        time.sleep(max(0.0, begin + delta * _PACE_SECONDS - time.monotonic()))
        event = _event({"content": f"{delta:07d} "})
        run.sent.append(time.monotonic())
        connection.sendall(event)
    connection.sendall(_event({}, "stop") + _END)


def _number(name: bytes) -> int:
    return int(name[1:])


def _failure(status: bytes, headers: bytes = b"") -> bytes:
    body = b'{"error": {"message": "not now", "type": "error"}}'
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n"
    return head % (status, headers, len(body)) + body


@functools.cache
def _text_stream(deltas: int) -> bytes:
    events = (_event({"content": f"{number:07d} "}) for number in range(deltas))
    return b"".join((_STREAM, _event({"role": "assistant", "content": ""}), *events, _event({}, "stop"), _END))


@functools.cache
def _call_stream(tool: str, number: int) -> bytes:
    arguments = {"path": f"notes-{number:02d}.txt"} if tool == "read_file" else {"command": f"true {number}"}
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return b"".join((_STREAM, _event({"role": "assistant", "tool_calls": [call]}), _event({}, "tool_calls"), _END))


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event in an HTTP chunk of its own, as model servers send them."""
    payload = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "bench",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return _chunk(b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_END = _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"

if __name__ == "__main__":
    main()
