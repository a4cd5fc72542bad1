"""Watches one running command: its output, its report, its exit, the time-out and the cancel, all in one `poll`."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Literal

from tools.environments.output import OutputBuffer
from tools.environments.shell_start import MAX_REPORT_BYTES, Left, StartedShell, read_pipes
from tools.light_dataclass import dataclass
from tools.os_compat import SIGKILL
from tools.ports import CommandSpec, Interrupt
from tools.settings import TerminalSettings
from tools.shell.session import ShellCommand, ShellOutcome
from tools.text.terminal_output import FULL_SCREEN, TAIL_CHARS, open_line, question, takes_the_screen

if sys.platform != "win32":
    import fcntl
    import termios


def open_exit_watch(process: subprocess.Popen[bytes]) -> int:
    """A descriptor to poll for reading; the caller closes it.

    The process is not reaped where the system allows that, so that its group's number stays its own meanwhile.
    """
    if hasattr(os, "pidfd_open"):
        try:
            return os.pidfd_open(process.pid)
        except OSError:
            # An old kernel or a sandbox that does not know the call: the thread serves as well.
            return _watching_thread(process)
    return _watching_thread(process)


def _watching_thread(process: subprocess.Popen[bytes]) -> int:
    reader, writer = os.pipe()

    def watch() -> None:
        try:
            _wait(process)
        finally:
            os.close(writer)  # the reader sees the end of the pipe

    threading.Thread(target=watch, name=f"exit of {process.pid}", daemon=True).start()
    return reader


def _wait(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


class WakePipe:
    """A pipe that becomes readable at `wake`. `close` may race with `wake`: a late one does nothing."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._open = True
        # Without it a late wake could write into whatever file has the number by then.
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """The descriptor to poll for reading."""
        return self._reader

    def wake(self) -> None:
        """Make the pipe readable, from then on."""
        with self._lock:
            if self._open:
                # Full means readable already.
                with contextlib.suppress(BlockingIOError):
                    os.write(self._writer, b"!")

    def close(self) -> None:
        """Give the descriptors back."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._reader)
                os.close(self._writer)


_LFLAG = 3


class PromptWatch:
    """Sees the output; a question at its end and then silence mean that the program waits.

    Args:
        quiet_seconds: how long the silence has to be.
        terminal: the descriptor of the program's pseudo-terminal, None where it has none. A terminal that does not
            echo what is typed tells of a password, whatever the question looks like.
    """

    def __init__(self, quiet_seconds: float, terminal: int | None = None) -> None:
        self._quiet = quiet_seconds
        self._terminal = terminal
        self._tail = ""
        self._has_screen = False
        self.due: float | None = None
        """When to call `waits_for`, on the monotonic clock; None for not before there is more output."""

    def saw(self, text: str) -> None:
        """The program has printed `text`."""
        if self._terminal is not None:
            # A sequence that came in two pieces has its beginning in the old tail.
            self._has_screen = takes_the_screen(self._tail[-8:] + text, was=self._has_screen)
        self._tail = (self._tail + text)[-TAIL_CHARS:]
        self.due = time.monotonic() + self._quiet if self._may_wait() else None

    def waits_for(self) -> str:
        """The question that the program waits at, '' when it does not seem to wait."""
        self.due = None
        if self._has_screen:
            return FULL_SCREEN
        found = question(self._tail)
        return found or (open_line(self._tail) if self._hides_typing() else "")

    def _may_wait(self) -> bool:
        return self._has_screen or not self._tail.endswith("\n")

    def _hides_typing(self) -> bool:
        if self._terminal is None:
            return False
        try:
            flags: int = termios.tcgetattr(self._terminal)[_LFLAG]
        except termios.error:
            return False
        return bool(flags & termios.ICANON) and not flags & termios.ECHO


# One command, watched.

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
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    count: int = struct.unpack("i", answer)[0]
    return count


# For somebody who waits: a started command seen through, and what its shell leaves.

QUIET_SECONDS = 5.0
"""So long after a question a silent command counts as waiting for its answer."""

_KILLED_SECONDS = 5.0
_WITHOUT_TERMINAL = 4


def run_to_end(
    start: Callable[[], StartedShell],
    spec: CommandSpec,
    on_output: Callable[[str], None],
    interrupt: Interrupt,
    *,
    settings: TerminalSettings,
    quiet_seconds: float | None,
    closed: Callable[[StartedShell], None],
    left_by: Callable[[bytes], Left | None] = lambda _report: None,
    leaves_nothing: bool = False,
) -> tuple[ShellOutcome, StartedShell]:
    """Run to the end, the time-out, the cancel, or a question that nobody answers.

    Args:
        start: starts it.
        quiet_seconds: how long it may be silent after a question at a terminal; four times that without one. None:
            nobody looks for questions.
        closed: called when nobody watches it any more.
        left_by: reads what its shell has reported.
        leaves_nothing: as in `CommandWatch`.

    Raises:
        CommandError: it could not be started.
    """
    pty = isinstance(spec, ShellCommand) and spec.pty
    buffer = OutputBuffer(spec.most_chars or settings.max_output_chars, settings.head_share, spec.save_to)

    def take(text: str) -> None:
        buffer.add(text)
        on_output(text)

    began = time.monotonic()
    started = start()
    prompts = None
    if quiet_seconds is not None:
        # Without a terminal hardly any program waits for a person: a silence has to be long to mean that.
        quiet = quiet_seconds if pty else quiet_seconds * _WITHOUT_TERMINAL
        prompts = PromptWatch(quiet, started.output if pty else None)
    try:
        ending = _watch(started, spec, take, prompts, interrupt, leaves_nothing=leaves_nothing)
    finally:
        saved = buffer.close()
        closed(started)
    left = left_by(ending.report) if isinstance(spec, ShellCommand) and ending.by_itself else None
    code, killer = started.exit()
    outcome = ShellOutcome(
        output=buffer.text(),
        exit_code=code,
        signal=killer,
        timed_out=ending.timed_out,
        interrupted=ending.interrupted,
        truncated_chars=buffer.truncated_chars,
        duration=time.monotonic() - began,
        saved=saved,
        left=left.state if left else None,
        not_kept=left.not_kept if left else (),
        waits_for=ending.waits_for,
        pipe_statuses=read_pipes(ending.report) if ending.by_itself else (),
    )
    return outcome, started


def _watch(
    started: StartedShell,
    spec: CommandSpec,
    on_text: Callable[[str], None],
    prompts: PromptWatch | None,
    interrupt: Interrupt,
    *,
    leaves_nothing: bool,
) -> Ending:
    wake = WakePipe()
    forget = interrupt.on_cancel(wake.wake)
    try:
        return CommandWatch(
            started, wake, spec.timeout, on_text,
            prompts=prompts, waited=spec.waited, leaves_nothing=leaves_nothing,
        ).run()  # fmt: skip
    except BaseException:
        # Whatever broke off the watch, nobody looks after the command any more.
        started.signal(SIGKILL)
        started.process.wait(_KILLED_SECONDS)
        raise
    finally:
        forget()
        wake.close()
