"""`counting_program.py COUNTS PROGRAM …`: runs the agent in this process and writes into the file COUNTS, a line of
JSON for each answer to the client and for the first request to a model, what it has cost so far: bytes of code that
was loaded, SQL statements, system calls, memory blocks.

Nothing is loaded ahead here, while the person types: what is loaded when an answer comes is what the answer needs,
however busy the machine is.

Whoever writes, in whatever thread, does it through `os.write`; sockets are read, written and woken by through
`socket.socket`. Nothing is imported before the first answer that the agent would not import itself.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import importlib.machinery
    import types

_write = os.write
_calls: dict[str, list[None]] = {name: [] for name in ("write", "send", "receive", "wait", "sql")}
_peak = [0]
_asked: list[None] = []
_loaded = {"own": 0, "others": 0}
"""Bytes of the source of what was loaded: the project's, and that of the standard library and the packages."""
_opened: list[dict[str, int]] = []
"""What was loaded when the first session/new was answered: soon after, while it is written, more is."""
_OWN = {"acp_adapter", "agent_core", "tools"}
_AHEAD = {"acp_adapter.startup": ("Warmup", "start"), "acp_adapter.preload": ("Warming", "begin")}
"""What loads ahead: the module, its class and method."""
_COUNTS = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
_ANSWERS = {
    b'"result":{"protocolVersion"': "initialize",
    b'"result":{"sessionId"': "session",
    b'"result":{"stopReason"': "prompt",
}


def _watched(descriptor: int, data: bytes) -> int:
    _calls["write"].append(None)
    _peak[0] = max(_peak[0], sys.getallocatedblocks())
    said = bytes(data)
    for mark, answer in _ANSWERS.items():
        if mark in said:
            _report(answer)
    return _write(descriptor, data)


def _report(answer: str) -> None:
    code = _opened.pop() if answer == "session" and _opened else _loaded.copy()  # before any of what follows
    import gc  # noqa: PLC0415
    import json  # noqa: PLC0415

    if answer == "initialize":
        _watch_the_rest()
    gc.collect()
    facts: dict[str, object] = {name: len(calls) for name, calls in _calls.items()}
    facts |= {**code, "answer": answer, "blocks": sys.getallocatedblocks(), "peak": _peak[0]}
    _write(_COUNTS, json.dumps(facts).encode() + b"\n")
    _peak[0] = 0


def _watch_the_rest() -> None:
    import selectors  # noqa: PLC0415
    import socket  # noqa: PLC0415
    import sqlite3  # noqa: PLC0415

    for name, kind in (("send", "send"), ("sendall", "send"), ("recv", "receive"), ("recv_into", "receive")):
        _count(socket.socket, name, kind)
    _count(selectors.DefaultSelector, "select", "wait")
    _note_code(sys.modules["acp_adapter.transport"].Transport)
    connect = sqlite3.connect

    def watched(*args: object, **options: object) -> sqlite3.Connection:
        connection = connect(*args, **options)  # type: ignore[call-overload] # as it was called
        connection.set_trace_callback(_count_statement)
        return connection

    sqlite3.connect = watched  # type: ignore[assignment] # of the overloads


def _count_statement(_: str) -> None:
    """Housekeeping is done by the clock: on a slow day it does more meanwhile."""
    if threading.current_thread().name != "session-housekeeping":
        _calls["sql"].append(None)


def _note_code(transport: type) -> None:
    method = transport.answer

    def noted(*args: object, **options: object) -> object:
        transport.answer = method
        _opened.append(_loaded.copy())
        return method(*args, **options)

    transport.answer = noted


def _count(owner: type, name: str, kind: str) -> None:
    method, calls = getattr(owner, name), _calls[kind]

    def counted(*args: object, **options: object) -> object:
        calls.append(None)
        if kind == "send" and not _asked and bytes(args[1][:5]) == b"POST ":
            _asked.append(None)
            _report("request")
        return method(*args, **options)

    setattr(owner, name, counted)


def _executed(loader: importlib.machinery.SourceFileLoader, module: types.ModuleType) -> None:
    whose = "own" if module.__name__.partition(".")[0] in _OWN else "others"
    _loaded[whose] += os.stat(loader.path).st_size  # noqa: PTH116 - pathlib would be one more module
    _exec_module(loader, module)
    if module.__name__ in _AHEAD:
        owner, method = _AHEAD[module.__name__]
        setattr(getattr(module, owner), method, lambda *_, **__: None)


_loader = sys.modules["_frozen_importlib_external"].SourceFileLoader
_exec_module = _loader.exec_module
_loader.exec_module = _executed
os.write = _watched  # type: ignore[assignment] # bytes and the like
sys.argv[:] = sys.argv[2:]
with open(sys.argv[0], encoding="utf-8") as program:  # noqa: PTH123 - pathlib would be one more module
    exec(compile(program.read(), sys.argv[0], "exec"))
