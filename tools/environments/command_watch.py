"""Watches one running command: its output, its exit, the time-out and the cancel, all in one `poll`."""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass

from tools.environments.exit_watch import open_exit_watch
from tools.environments.process_groups import signal_group
from tools.environments.wake import WakePipe

_READ_BYTES = 65_536
_TIMEOUT_GRACE = 0.3
_CANCEL_GRACE = 0.1
# A process that SIGKILL does not end within this time hangs in the kernel; the turn goes on without it.
_GIVE_UP = 5.0


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the watch is over. `exited` False: the process hangs in the kernel in spite of SIGKILL."""

    exited: bool
    timed_out: bool = False
    interrupted: bool = False


class CommandWatch:
    """Sees one command through to its end.

    Args:
        process: leader of its own process group, not yet waited for.
        output: the read end of the pipe that it writes to; the watch does not close it.
        wake: becomes readable when the turn is cancelled.
        timeout: seconds.
        on_text: gets the output, decoded, as it comes.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: int,
        wake: WakePipe,
        timeout: float,
        on_text: Callable[[str], None],
    ) -> None:
        self._group = process.pid
        self._process = process
        self._output = output
        self._wake = wake
        self._deadline = time.monotonic() + timeout
        self._on_text = on_text
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._poll = select.poll()
        self._phase = "running"
        self._timed_out = False
        self._interrupted = False

    def run(self) -> Ending:
        """Return when the command has exited (its background children may live on), or was ended."""
        exit_watch = open_exit_watch(self._process)
        try:
            self._poll.register(self._output, select.POLLIN)
            self._poll.register(self._wake.fileno(), select.POLLIN)
            self._poll.register(exit_watch, select.POLLIN)
            exited = self._until_exit(exit_watch)
        finally:
            os.close(exit_watch)
        if self._phase != "running":
            signal_group(self._group, signal.SIGKILL)  # what is left of it after the shell's own exit
        self._drain()
        return Ending(exited, self._timed_out, self._interrupted)

    def _until_exit(self, exit_watch: int) -> bool:
        while True:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0 and not self._next_phase():
                return False
            ready = {descriptor for descriptor, _ in self._poll.poll(max(0.0, remaining) * 1000)}
            # Before the exit: what it printed last is read below in one go.
            if exit_watch in ready:
                return True
            if self._output in ready:
                self._read(_READ_BYTES)
            if self._wake.fileno() in ready:
                self._poll.unregister(self._wake.fileno())
                self._cancel()

    def _cancel(self) -> None:
        self._interrupted = True
        if self._phase == "running":
            self._terminate(_CANCEL_GRACE)

    def _next_phase(self) -> bool:
        """The deadline of this phase has passed; False when nothing is left to try."""
        if self._phase == "running":
            self._timed_out = True
            self._terminate(_TIMEOUT_GRACE)
        elif self._phase == "terminating":
            self._phase = "killed"
            signal_group(self._group, signal.SIGKILL)
            self._deadline = time.monotonic() + _GIVE_UP
        else:
            return False
        return True

    def _terminate(self, grace: float) -> None:
        self._phase = "terminating"
        signal_group(self._group, signal.SIGTERM)
        self._deadline = time.monotonic() + grace

    def _read(self, count: int) -> int:
        data = os.read(self._output, count)
        if not data:
            self._poll.unregister(self._output)
        if text := self._decoder.decode(data):
            self._on_text(text)
        return len(data)

    def _drain(self) -> None:
        # Only what is there now: a background child that goes on printing must not hold the call.
        waiting = _bytes_waiting(self._output)
        while waiting > 0:
            taken = self._read(min(waiting, _READ_BYTES))
            waiting -= taken or waiting
        if rest := self._decoder.decode(b"", final=True):
            self._on_text(rest)


def _bytes_waiting(descriptor: int) -> int:
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    count: int = struct.unpack("i", answer)[0]
    return count
