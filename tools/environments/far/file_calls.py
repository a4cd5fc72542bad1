"""What is asked of another machine's files, one call at a time; two ways to answer it implement `FileCalls`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import subprocess
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tools.environments.far.exchange import MOST_BYTES
from tools.environments.far.link import Footing, Link
from tools.environments.far.machine import NotConnected, Streams
from tools.environments.far.wrapping import quoted
from tools.errors import CommandError, FileAccessError

_HEAD = struct.Struct(">I")
_HELLO = b"hermes-files\n"
_SILENT_SECONDS, _WHOLE_SECONDS = 60.0, 900.0
_KINDS = frozenset({"file", "directory", "other"})
_MOST_TOLD, _MOST_WORDS = 64 * 1024 * 1024, 200
_MOST_GREETING = 20_000
# A connection's end reaches its programs one after the other.
_NOTICED_SECONDS = 1.0
# What may be asked again when the connection has broken off meanwhile.
_ONLY_LOOKS = frozenset({"stat", "read", "list", "resolve", "times", "leads"})

Told = dict[str, Any]


class BadAnswer(ValueError):
    """What came is no answer, though the connection holds: what runs there is not what was started."""


class FileCalls(Protocol):
    """Answers `file_program`'s requests. Safe to use from several threads."""

    def ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        """One request.

        Returns:
            what `file_program` tells, `errno` or `refused` included, and raw bytes.

        Raises:
            CommandError, FileAccessError: the machine cannot be reached.
        """
        ...

    def close(self) -> None:
        """Nothing more is asked."""
        ...


class ProgramCalls:
    """Asks a program there that goes on running, so that a call costs one way there and back."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._footing: Footing | None = None

    def ask(self, do: str, path: str, body: bytes = b"", **fields: Any) -> tuple[Told, bytes]:
        """One request."""
        asked = json.dumps({"do": do, "path": path, "follows": len(body), **fields}).encode("ascii")
        with self._lock:
            for is_last in (do not in _ONLY_LOOKS, True):
                process = self._running()
                try:
                    return _exchange(process, do, _HEAD.pack(len(asked)) + asked + body)
                except BadAnswer as problem:
                    self._end()
                    raise self._odd(do, path, problem) from problem
                except (OSError, EOFError, TimeoutError) as problem:
                    self._end()
                    if is_last:
                        raise self._broken(do, path) from problem
                    if self._footing is not None:
                        self._link.holds(self._footing, wait=_NOTICED_SECONDS)
        raise self._broken(do, path)

    def close(self) -> None:
        """End the program."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._footing is not None and self._link.holds(self._footing):
            return self._process
        self._end()
        try:
            return self._begun()
        except NotConnected:
            # It broke off unnoticed: nothing was sent yet.
            return self._begun()

    def _begun(self) -> subprocess.Popen[bytes]:
        self._footing = self._link.footing()
        source = _program()
        script = f"exec python3 -I -X utf8 -c {quoted(f'import sys; exec(sys.stdin.buffer.read({len(source)}))')}"
        streams = Streams(subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL)
        process = self._process = self._link.start(script, streams)
        try:
            if process.stdin is not None:
                process.stdin.write(source)
                process.stdin.flush()
            hello = _behind_greeting(process)
        except (OSError, EOFError, TimeoutError) as problem:
            self._end()
            if not self._link.holds(self._footing, wait=_NOTICED_SECONDS):
                raise NotConnected(
                    f"The connection to {self._link.machine.name} has broken off. Try again."
                ) from problem
            raise CommandError(
                f"The python3 of {self._link.machine.name} does not start. Set terminal.files_by to sh to do without."
            ) from problem
        if not hello:
            self._end()
            raise CommandError(f"The shell of {self._link.machine.name} prints too much of its own at its start.")
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._link.ended(process)

    def _odd(self, do: str, path: str, problem: BadAnswer) -> FileAccessError:
        return FileAccessError(
            f"The python3 of {self._link.machine.name} gave no answer that means anything when {path} was asked for "
            f"({do}): {problem}. See what has become of it there, or set terminal.files_by to sh."
        )

    def _broken(self, do: str, path: str) -> FileAccessError:
        unsure = "" if do in _ONLY_LOOKS else " Whether it was done is not known: look at it before you go on."
        return FileAccessError(
            f"The connection to {self._link.machine.name} broke off while {path} was asked for ({do}).{unsure}"
        )


def _exchange(process: subprocess.Popen[bytes], do: str, request: bytes) -> tuple[Told, bytes]:
    if process.stdin is None:
        raise EOFError
    process.stdin.write(request)
    process.stdin.flush()
    size: int = _HEAD.unpack(_read(process, _HEAD.size))[0]
    if size > _MOST_TOLD:
        raise BadAnswer(f"it has {size:,} bytes")
    try:
        told: Told = json.loads(_read(process, size))
        follows = int(told["follows"])
        is_answer = 0 <= follows <= MOST_BYTES and _is_answer(do, told)
    except (ValueError, LookupError, TypeError, RecursionError) as problem:
        raise BadAnswer(f"{type(problem).__name__}: {problem}"[:_MOST_WORDS]) from problem
    if not is_answer:
        raise BadAnswer(f"{told}"[:_MOST_WORDS])
    return told, _read(process, follows)


def _is_answer(do: str, told: Told) -> bool:
    words = [told[name] for name in ("errno", "refused", "text") if name in told]
    if not all(isinstance(word, str) for word in words):
        return False
    if do == "stat" and not told.keys() & {"errno", "refused"}:
        return told.get("kind") in _KINDS and all(
            isinstance(told.get(name), int) for name in ("size", "mtime", "mode")
        )
    return all(isinstance(each, int) for each in told.get("times", ()))


def _behind_greeting(process: subprocess.Popen[bytes]) -> bool:
    """Read up to the program's first words: what comes before them is the shell's. False where there is too much."""
    seen = b""
    while not seen.endswith(_HELLO):
        seen += _read(process, 1)
        if len(seen) > _MOST_GREETING:
            return False
    return True


def _read(process: subprocess.Popen[bytes], count: int) -> bytes:
    """Exactly so many bytes.

    Raises:
        EOFError: it has ended. TimeoutError: it says nothing, or too little for too long.
    """
    if process.stdout is None:
        raise EOFError
    descriptor = process.stdout.fileno()
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    data, until = bytearray(), time.monotonic() + _WHOLE_SECONDS
    while len(data) < count:
        if time.monotonic() > until or not readable.poll(_SILENT_SECONDS * 1000):
            raise TimeoutError
        piece = os.read(descriptor, min(count - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


@cache
def _program() -> bytes:
    return Path(__file__).with_name("file_program.py").read_bytes()
