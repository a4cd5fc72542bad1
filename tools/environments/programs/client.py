"""The tools of the session that has started this program: each is a function that returns a dict.

A call that fails raises ToolError, one that was refused Denied; both say why. Functions may be called from several
threads. (This file is not imported by the agent. A program gets its text, with the functions behind it, as the module
`hermes_tools`; any Python from 3.8 on must understand it.)
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import struct
import sys
import threading
from typing import Any

_SIZE = struct.Struct(">I")


class ToolError(Exception):
    """A call did not do what it was made for; the text says why."""


class Denied(ToolError):
    """The user, or a rule of theirs, does not allow what was tried. Do not try it another way."""


class _Channel:
    """Calls and answers over one socket. Whoever waits for an answer reads; what is another's is handed over."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._process = os.getpid()
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        self._answers: dict[int, dict[str, Any]] = {}
        self._number = 0
        self._is_read = False
        self._broken = ""

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if os.getpid() != self._process:
            raise ToolError(
                "Tools can be called only from the program's own process, not from one that it has forked."
            )
        with self._changed:
            self._number += 1
            number = self._number
        request = json.dumps({"id": number, "name": name, "arguments": arguments}).encode()
        try:
            with self._sending:
                self._socket.sendall(_SIZE.pack(len(request)) + request)
            return self._answer(number)
        except OSError as problem:
            raise ToolError("The session takes no more calls of this program: " + str(problem)) from problem

    def receive(self) -> bytes:
        (size,) = _SIZE.unpack(self._take(_SIZE.size))
        return self._take(size)

    def _answer(self, number: int) -> dict[str, Any]:
        while True:
            with self._changed:
                while number not in self._answers and self._is_read and not self._broken:
                    self._changed.wait()
                if number in self._answers:
                    return self._answers.pop(number)
                if self._broken:
                    raise ToolError(self._broken)
                self._is_read = True
            answer, broken = None, "A call was broken off, so that no other can be made."
            try:
                answer, broken = json.loads(self.receive().decode()), ""
            except OSError as problem:
                broken = "The session takes no more calls of this program: " + str(problem)
            finally:
                with self._changed:
                    self._is_read, self._broken = False, broken
                    if answer is not None:
                        self._answers[answer["id"]] = answer
                    self._changed.notify_all()

    def _take(self, count: int) -> bytes:
        parts = []
        while count:
            part = self._socket.recv(min(count, 1 << 20))
            if not part:
                raise OSError("the connection is closed")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


_channel: _Channel | None = None


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if _channel is None:
        raise ToolError("This program was not started by a session.")
    more = arguments.pop("more", {})
    given = {key: value for key, value in dict(arguments, **more).items() if value is not None}
    try:
        answer = _channel.call(name, given)
    except (TypeError, ValueError) as problem:
        raise ToolError(name + ": the arguments are no JSON values: " + str(problem)) from problem
    if "error" in answer:
        raise (Denied if answer.get("denied") else ToolError)(answer["error"])
    result: dict[str, Any] = answer["result"]
    return result


def json_parse(text: str) -> Any:
    """The value of a JSON text; control characters may stand in its strings."""
    return json.loads(text, strict=False)


def shell_quote(text: str) -> str:
    """The text as one word of a shell command."""
    return shlex.quote(text)


def _run(connection: socket.socket, path: list[str]) -> None:
    """Take the program from the session and run it."""
    global _channel  # noqa: PLW0603 - one for the process, which this is the start of
    import linecache  # noqa: PLC0415 - not of use to programs
    import traceback  # noqa: PLC0415
    import types  # noqa: PLC0415

    _channel = _Channel(connection)
    code = _channel.receive().decode()
    name = "<program>"
    linecache.cache[name] = len(code), None, code.splitlines(keepends=True), name
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv[:] = ["program"]
    sys.path[:] = path
    try:
        exec(compile(code, name, "exec"), main.__dict__)  # noqa: S102 - that is what this process is for
    except SystemExit:
        raise
    except BaseException:  # noqa: BLE001 - as an interpreter does with what nobody has caught
        kind, value, trace = sys.exc_info()
        # Without the line above.
        shown = trace.tb_next if trace is not None else None
        traceback.print_exception(kind, value, shown)
        sys.exit(1)
