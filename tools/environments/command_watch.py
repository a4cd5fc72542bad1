"""Watches one running command: its output, its report, its exit, the time-out and the cancel, all in one `poll`."""

from __future__ import annotations

import codecs
import os
import select
import signal
import struct
import time
from collections.abc import Callable
from typing import Literal

from tools.environments.exit_watch import open_exit_watch
from tools.environments.prompt_watch import PromptWatch
from tools.environments.shell_report import MAX_REPORT_BYTES
from tools.environments.shell_start import StartedShell
from tools.environments.wake import WakePipe
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL

_READ_BYTES = 65_536
_TIMEOUT_GRACE = 0.3
_CANCEL_GRACE = 0.1
# A process that SIGKILL does not end within this time hangs in the kernel; the turn goes on without it.
_GIVE_UP = 5.0
# What a program wrote to a terminal right before its end may come a moment later.
_TERMINAL_LAG_MS = 30
_TERMINAL_LAST_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the watch is over. `exited` False: the process hangs in the kernel in spite of SIGKILL.

    Attributes:
        waits_for: the question at which the command waited for input and was ended.
        report: what the shell reported of itself.
    """

    exited: bool
    timed_out: bool = False
    interrupted: bool = False
    waits_for: str = ""
    report: bytes = b""

    @property
    def by_itself(self) -> bool:
        """Nobody made the command end."""
        return not (self.timed_out or self.interrupted or self.waits_for)


class CommandWatch:
    """Sees one command through to its end.

    Args:
        started: leader of its own process group, not yet waited for; the watch closes none of its descriptors.
        wake: becomes readable when the command has to end.
        timeout: seconds; None for no limit.
        on_text: gets the output, decoded, as it comes.
        prompts: notices questions; None where nobody looks for them.
        on_question: told of a question that the command waits at; the command is ended when it returns True.
        waited: seconds that the command has waited for the person so far; they do not count.
        leaves_nothing: a cancel kills it at once, and what is left of its group ends with it.
    """

    def __init__(
        self,
        started: StartedShell,
        wake: WakePipe,
        timeout: float | None,
        on_text: Callable[[str], None],
        *,
        prompts: PromptWatch | None = None,
        on_question: Callable[[str], bool] = lambda _question: True,
        waited: Callable[[], float] = lambda: 0.0,
        leaves_nothing: bool = False,
    ) -> None:
        self._leaves_nothing = leaves_nothing
        self._started = started
        self._wake = wake
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._on_text = on_text
        self._prompts = prompts
        self._on_question = on_question
        self._waited = waited
        self._given = 0.0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._report = bytearray()
        self._poll = select.poll()
        self._open: set[int] = set()
        self._phase: Literal["running", "terminating", "killed"] = "running"
        self._timed_out = False
        self._interrupted = False
        self._waits_for = ""

    def run(self) -> Ending:
        """Return when the command has exited (its background children may live on), or was ended."""
        exit_watch = open_exit_watch(self._started.process)
        try:
            for descriptor in (self._started.output, self._started.report, self._wake.fileno(), exit_watch):
                self._register(descriptor)
            exited = self._until_exit(exit_watch)
        finally:
            os.close(exit_watch)
        if self._phase != "running" or self._leaves_nothing:
            self._started.signal(SIGKILL)  # what is left of it after the shell's own exit
        self._drain()
        far = self._started.far
        report = bytes(self._report) if far is None else far.report
        return Ending(exited, self._timed_out, self._interrupted, self._waits_for, report)

    def _register(self, descriptor: int) -> None:
        if descriptor >= 0:
            self._poll.register(descriptor, select.POLLIN)
            self._open.add(descriptor)

    def _unregister(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            self._poll.unregister(descriptor)

    def _until_exit(self, exit_watch: int) -> bool:
        while True:
            ready = {descriptor for descriptor, _ in self._poll.poll(self._patience())}
            # Before the exit: what it printed last is read below in one go.
            if exit_watch in ready:
                return True
            if self._started.output in ready:
                self._read(_READ_BYTES)
            if self._started.far is not None and self._started.far.is_over:
                return True
            if self._started.report in ready:
                self._read_report(_READ_BYTES)
            if self._wake.fileno() in ready:
                self._unregister(self._wake.fileno())
                self._cancel()
            if not self._in_time():
                return False

    def _patience(self) -> float | None:
        """Milliseconds until something is due."""
        due = [moment for moment in (self._deadline, self._question_due()) if moment is not None]
        return max(0.0, min(due) - time.monotonic()) * 1000 if due else None

    def _question_due(self) -> float | None:
        return self._prompts.due if self._prompts is not None and self._phase == "running" else None

    def _in_time(self) -> bool:
        """Do what is due; False when nothing is left to try."""
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline:
            return self._next_phase()
        due = self._question_due()
        if self._prompts is not None and due is not None and now >= due:
            found = self._prompts.waits_for()
            if found and self._on_question(found):
                self._waits_for = found
                self._terminate(_CANCEL_GRACE)
        return True

    def _cancel(self) -> None:
        self._interrupted = True
        if self._leaves_nothing:
            self._kill()
        elif self._phase == "running":
            self._terminate(_CANCEL_GRACE)

    def _next_phase(self) -> bool:
        """The deadline of this phase has passed; False when nothing is left to try."""
        if self._phase == "running":
            far = self._started.far
            more = self._waited() + (0.0 if far is None else far.startup()) - self._given
            if more > 0:
                self._given += more
                self._deadline = time.monotonic() + more
                return True
            self._timed_out = True
            self._terminate(_TIMEOUT_GRACE)
        elif self._phase == "terminating":
            self._kill()
        else:
            return False
        return True

    def _kill(self) -> None:
        self._phase = "killed"
        self._started.signal(SIGKILL)
        self._deadline = time.monotonic() + _GIVE_UP

    def _terminate(self, grace: float) -> None:
        self._phase = "terminating"
        self._started.signal(signal.SIGTERM)
        self._deadline = time.monotonic() + grace

    def _read(self, count: int) -> int:
        data = _read(self._started.output, count)
        if not data:
            self._unregister(self._started.output)
        own = data if self._started.far is None else self._started.far.feed(data)
        if text := self._decoder.decode(own):
            self._tell(text)
        return len(data)

    def _tell(self, text: str) -> None:
        if self._prompts is not None:
            self._prompts.saw(text)
        self._on_text(text)

    def _read_report(self, count: int) -> int:
        data = _read(self._started.report, count)
        if not data:
            self._unregister(self._started.report)
        if len(self._report) < MAX_REPORT_BYTES:  # read to its end all the same: the shell must not wait for us
            self._report += data
        return len(data)

    def _drain(self) -> None:
        # Only what is there now: a background child that goes on printing must not hold the call.
        _drain(self._started.output, self._read)
        if self._started.report >= 0:
            _drain(self._started.report, self._read_report)
        if os.isatty(self._started.output):
            self._read_late()
        last = b"" if self._started.far is None else self._started.far.last()
        if rest := self._decoder.decode(last, final=True):
            self._tell(rest)

    def _read_late(self) -> None:
        until = time.monotonic() + _TERMINAL_LAST_SECONDS
        late = select.poll()
        late.register(self._started.output, select.POLLIN)
        while self._started.output in self._open and time.monotonic() < until and late.poll(_TERMINAL_LAG_MS):
            self._read(_READ_BYTES)


def _read(descriptor: int, count: int) -> bytes:
    try:
        return os.read(descriptor, count)
    except OSError:  # how Linux tells that nobody has the other side of a terminal open any more
        return b""


def _drain(descriptor: int, read: Callable[[int], int]) -> None:
    waiting = _bytes_waiting(descriptor)
    while waiting > 0:
        taken = read(min(waiting, _READ_BYTES))
        waiting -= taken or waiting


def _bytes_waiting(descriptor: int) -> int:
    import fcntl  # noqa: PLC0415 - not on every system
    import termios  # noqa: PLC0415 - the same

    answer = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    count: int = struct.unpack("i", answer)[0]
    return count
