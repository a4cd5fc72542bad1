"""The connection to another machine: made when it is first needed, and made again when it has broken off.

After it has broken off, what ran there is ended by its keeper. Each failure makes the next attempt wait longer, and
who asks meanwhile hears the same error at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import IO

from tools.environments.far.exchange import TooMuch, exchanged
from tools.environments.far.keeper import KEEPER, READY
from tools.environments.far.machine import Machine, Streams
from tools.environments.far.wrapping import new_token, quoted
from tools.environments.guardian import Guardian
from tools.environments.process_groups import signal_group
from tools.errors import CommandError
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_CONNECT_SECONDS = 40.0
_ANSWER_SECONDS = 5.0
_END_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_MOST_COMPLAINT = 4_000
_MOST_GREETING_LINES = 500
_KILL = 9
# How a program ends whose connection broke off: as ssh does, or by a signal. No script of ours ends so.
_BROKEN_OFF = frozenset({255, -_KILL})


@dataclass(slots=True)
class _Line:
    """One connection, as long as it lasts: its keeper, and the keeper's directory there."""

    process: subprocess.Popen[bytes]
    folder: str
    asking: threading.Lock = field(default_factory=threading.Lock)
    telling: threading.Lock = field(default_factory=threading.Lock)
    is_cut: bool = False

    @property
    def is_up(self) -> bool:
        return not self.is_cut and self.process.poll() is None


@dataclass(frozen=True, slots=True)
class Footing:
    """Where a connection stands. `folder` is ours on the other machine, `number` tells connections apart."""

    folder: str
    number: int


class Link:
    """The connection of one session; safe to use from several threads.

    Args:
        machine: the other end.
        guardian: ends the programs of ours when this process is gone.

    Attributes:
        mark: what the variables of each command there say, so that it is found when it has left its group.
    """

    def __init__(self, machine: Machine, guardian: Guardian) -> None:
        self.machine = machine
        self.mark = f"{guardian.mark}.{secrets.token_hex(4)}"
        self._guardian = guardian
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._connecting: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._not_before = 0.0
        self._pause = 0.0
        self._failure = ""
        self._is_unwanted = False

    @property
    def is_up(self) -> bool:
        """Whether it is connected, as far as is known without asking."""
        return (line := self._line) is not None and line.is_up

    def footing(self) -> Footing:
        """Be connected.

        Raises:
            CommandError: it cannot be reached; why, and what to do.
        """
        with self._lock:
            if self._line is None or not self._line.is_up:
                self._connect()
            line = self._line
            if line is None:
                raise CommandError(f"{self.machine.name} is not connected. Try again.")
            return Footing(line.folder, self._number)

    def holds(self, footing: Footing, *, wait: float = 0.0) -> bool:
        """Whether the connection of then is still there.

        Args:
            wait: seconds that its end may take to be noticed, where something has just ended because of it.
        """
        with self._lock:
            line = self._line if self._number == footing.number else None
        if line is None:
            return False
        if wait and line.is_up:
            with contextlib.suppress(subprocess.TimeoutExpired):
                line.process.wait(wait)
        return line.is_up

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script there; a group of its own here, which must be `ended`.

        Raises:
            NotConnected: the connection is gone. CommandError: it could not be started.
        """
        self._guardian.ready()
        process = self.machine.start(script, streams, terminal=terminal)
        self._guardian.add(process.pid)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Nobody needs the program here any more: end it if it still runs, and reap it."""
        signal_group(process.pid, _KILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        self._guardian.discard(process.pid)

    def output_of(self, script: str, *, given: bytes = b"", seconds: float = 20.0) -> bytes:
        """What a short script prints; its input is `given`.

        Raises:
            CommandError: it could not be run, took too long, or printed without an end.
        """
        self.footing()
        # What the shell there prints of its own at its start is none of the answer.
        mark = f"{new_token()}\n"
        with self.running(
            f"printf '%s\\n' {mark}{script}", Streams(subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        ) as process:
            try:
                output, complaint = exchanged(process, given, seconds)
            except subprocess.TimeoutExpired as problem:
                raise CommandError(f"{self.machine.name} did not answer within {seconds:.0f} seconds.") from problem
            except TooMuch as problem:
                raise CommandError(f"{self.machine.name} does not answer as expected: {problem}.") from problem
        _, begun, answer = output.partition(mark.encode())
        words = complaint.decode(errors="replace")
        if not begun:
            raise CommandError(self.machine.why(words))
        if process.returncode in _BROKEN_OFF:
            # What came is not all of it.
            raise CommandError(
                f"The connection to {self.machine.name} broke off before it had answered. Try again. {words}".rstrip()
            )
        return answer

    @contextmanager
    def running(self, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
        """A script that ends with the block at the latest."""
        process = self.start(script, streams)
        try:
            yield process
        finally:
            self.ended(process)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()

    def put(self, path: str, data: bytes) -> None:
        """Write a small file in our directory there."""
        self.output_of(f"umask 077; cat >{quoted(path)}", given=data)

    def tell(self, line: str) -> None:
        """Send the keeper a line that it does not answer; nothing where there is none."""
        # Who connects anew has the lock for long, and there is nobody to tell then.
        if (there := self._line) is not None:
            with there.telling:
                self._send(there, line)

    def any_alive(self) -> bool:
        """Whether a command there is still alive; False where that is not known, for want of a connection."""
        answer = self._ask("alive")
        return answer is not None and answer.split()[-1:] != [b"0"]

    def kill_all(self) -> None:
        """End every command there."""
        self._ask("kill")

    def close(self) -> None:
        """End everything there, and the connection, or the attempt to make one. A later call may connect again.

        An attempt that does not end in a moment, as when an image is fetched, ends what it has made when it is done.
        """
        until = time.monotonic() + _END_SECONDS
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            if (connecting := self._connecting) is not None and connecting.poll() is None:
                signal_group(connecting.pid, _KILL)
            elif time.monotonic() > until:
                self._is_unwanted = True
                return
        try:
            line, self._line = self._line, None
        finally:
            self._lock.release()
        if line is not None:
            self._drop(line)
        self.machine.close()

    def _connect(self) -> None:
        now = time.monotonic()
        if now < self._not_before:
            raise CommandError(f"{self._failure} The next attempt is possible in {self._not_before - now:.0f} s.")
        if self._line is not None:
            self._drop(self._line)
            self._line = None
        self._is_unwanted = False
        try:
            self._line = self._opened()
        except CommandError as problem:
            self._pause = min(_LONGEST_PAUSE, self._pause * 2 or _FIRST_PAUSE)
            self._not_before = time.monotonic() + self._pause
            self._failure = str(problem)
            raise
        self._pause = self._not_before = 0.0
        self._number += 1
        if self._is_unwanted:
            line, self._line = self._line, None
            self._drop(line)
            self.machine.close()
            raise CommandError(f"{self.machine.name} is not needed any more: the session has ended.")
        self._send(self._line, f"mark {self.mark}")

    def _opened(self) -> _Line:
        self._guardian.ready()
        with tempfile.TemporaryFile() as complaints:
            process = self.machine.connect(KEEPER, Streams(subprocess.PIPE, subprocess.PIPE, complaints))
            self._guardian.add(process.pid)
            self._connecting = process
            try:
                greeting = _greeting_of(process)
            finally:
                self._connecting = None
            if greeting is not None and greeting.startswith(READY):
                folder = os.fsdecode(greeting[len(READY) :].rstrip(b"\r\n"))
                return _Line(process, folder)
            self.ended(process)
            _close_pipes(process)
            words = _read_tail(complaints)
        if greeting is None:
            raise CommandError(f"{self.machine.name} did not answer within {_CONNECT_SECONDS:.0f} seconds. {words}")
        raise CommandError(self.machine.why(words))

    def _ask(self, verb: str) -> bytes | None:
        line = self._line
        if line is None or not line.is_up:
            return None
        with line.asking:
            with line.telling:
                self._send(line, verb)
            answer = line_from(line.process, _ANSWER_SECONDS)
        if not answer:
            line.is_cut = True  # what it may say later would be taken for another answer
            return None
        return answer

    @staticmethod
    def _send(line: _Line, text: str) -> None:
        pipe = line.process.stdin
        if pipe is None:
            return
        try:
            pipe.write(text.encode() + b"\n")
            pipe.flush()
        except OSError:
            line.is_cut = True

    def _drop(self, line: _Line) -> None:
        """Let the keeper see its end first: it ends what is left."""
        with contextlib.suppress(OSError):
            if line.process.stdin is not None:
                line.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            line.process.wait(_END_SECONDS)
        self.ended(line.process)
        _close_pipes(line.process)


def _greeting_of(process: subprocess.Popen[bytes]) -> bytes | None:
    """The keeper's first line, behind what the shell there may print of its own; as `line_from`."""
    until = time.monotonic() + _CONNECT_SECONDS
    for _ in range(_MOST_GREETING_LINES):
        line = line_from(process, until - time.monotonic())
        if not line or line.startswith(READY):
            return line
    return b""


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def line_from(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """The next line that a program prints; empty at its end, None when none came in time."""
    if process.stdout is None:
        return b""
    descriptor = process.stdout.fileno()
    until = time.monotonic() + seconds
    line = b""
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    # A byte at a time: a buffered read would wait for more than there is.
    while not line.endswith(b"\n"):
        if not readable.poll(max(0.0, until - time.monotonic()) * 1000):
            return None
        byte = os.read(descriptor, 1)
        if not byte:
            return b""
        line += byte
    return line


def _read_tail(file: IO[bytes]) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - _MOST_COMPLAINT))
    return file.read().decode(errors="replace").strip()
