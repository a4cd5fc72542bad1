"""One background process: a thread sees it through, and others look at it meanwhile."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tools.environments.command_watch import CommandWatch, PromptWatch, WakePipe
from tools.environments.output import OutputFile
from tools.environments.shell_start import StartedShell
from tools.errors import CommandError, ToolInterrupted
from tools.ports import Interrupt
from tools.shell.session import PatternMatch, ProcessEvent, ProcessInfo, ProcessSpec, ProcessView
from tools.text.terminal_output import plain_text


class RollingOutput:
    """Keeps the last `limit` characters; safe to use from several threads.

    Args:
        limit: characters kept.
        save_to: the file for all of the output, which is made when something would be lost; None for none.
    """

    def __init__(self, limit: int, save_to: Path | None = None) -> None:
        self._limit = limit
        self._save_to = save_to
        self._file: OutputFile | None = None
        self._text = ""
        self._begins = 0
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        """Append `text`."""
        with self._lock:
            if self._file is not None:
                self._file.write(text)
            self._text += text
            # Cut at twice the limit, not at each call: many small pieces then cost little.
            if len(self._text) > 2 * self._limit:
                self._cut()

    def since(self, offset: int) -> tuple[str, int, int]:
        """What came after the first `offset` characters.

        Returns:
            the text, how many characters of it are kept no more, and the offset of the end.
        """
        with self._lock:
            end = self._begins + len(self._text)
            first = max(offset, end - self._limit, self._begins)
            return self._text[first - self._begins :], first - offset, end

    def log(self) -> Path | None:
        """The file with all of the output; None while all is kept here, or where it could not be made."""
        with self._lock:
            return self._save_to if self._file is not None else None

    def close(self) -> None:
        """Nothing more comes."""
        with self._lock:
            if len(self._text) > self._limit:
                self._cut()
            if self._file is not None and self._file.close() is None:
                self._save_to = None

    def _cut(self) -> None:
        if self._file is None and self._save_to is not None:
            self._file = OutputFile(self._save_to)
            self._file.write(self._text)
        lost = len(self._text) - self._limit
        self._text = self._text[lost:]
        self._begins += lost


_MAX_LINE_CHARS = 500
_PAUSE_SECONDS = 15.0
_MAX_TOLD = 20


class PatternWatch:
    """Tells the first line of every pattern at once, and after that one line in `pause` seconds, `most` in all.

    Args:
        patterns: plain texts, letter case as it is.
    """

    def __init__(
        self,
        patterns: Sequence[str],
        pause: float = _PAUSE_SECONDS,
        most: int = _MAX_TOLD,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patterns = [pattern for pattern in patterns if pattern]
        self._unseen = set(self._patterns)
        self._pause = pause
        self._left = most
        self._clock = clock
        self._quiet_until = 0.0
        self._line = ""

    def saw(self, text: str) -> Iterator[tuple[str, str]]:
        """The patterns and lines worth telling of what was printed; a line counts when it is finished."""
        if not self._patterns or self._left <= 0:
            return
        *lines, rest = (self._line + text).split("\n")
        self._line = rest[-10 * _MAX_LINE_CHARS :]
        for raw in lines:
            line = plain_text(raw)
            pattern = next((pattern for pattern in self._patterns if pattern in line), None)
            if pattern is not None and self._is_due(pattern):
                yield pattern, line[:_MAX_LINE_CHARS]

    def _is_due(self, pattern: str) -> bool:
        now = self._clock()
        if self._left <= 0 or (pattern not in self._unseen and now < self._quiet_until):
            return False
        self._unseen.discard(pattern)
        self._quiet_until = now + self._pause
        self._left -= 1
        return True


_MATCHES_KEPT = 10
WRITE_SECONDS = 5.0
_KILL_SECONDS = 10.0
_END_OF_INPUT = b"\x04"


class BackgroundProcess:
    """Safe to use from several threads.

    Args:
        process_id: its name in the session.
        started: the running shell, whose descriptors are this object's from now on.
        spec: what was started.
        kept_chars: how much of its output is kept.
        quiet_seconds: how long it has to be silent after a question.
        on_event: told of its end, and of what `spec` asks to be told of.
        on_closed: called at the end, when nobody watches the process any more; closes the descriptors.
    """

    def __init__(
        self,
        process_id: str,
        started: StartedShell,
        spec: ProcessSpec,
        *,
        kept_chars: int,
        quiet_seconds: float,
        on_event: Callable[[ProcessEvent], None],
        on_closed: Callable[[StartedShell], None],
    ) -> None:
        self.id = process_id
        self.spec = spec
        self._started = started
        self._on_event = on_event
        self._on_closed = on_closed
        self._output = RollingOutput(kept_chars, spec.save_to)
        self._patterns = PatternWatch(spec.watch_patterns)
        self._prompts = PromptWatch(quiet_seconds, started.output if spec.pty else None)
        self._wake = WakePipe()
        self._began = time.monotonic()
        self._ended: float | None = None
        self._seen = 0
        self._waits_for = ""
        self._matches: deque[PatternMatch] = deque(maxlen=_MATCHES_KEPT)
        self._waiters: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._typing = threading.Lock()
        self._watcher = threading.Thread(target=self._watch, name=f"watch {process_id}", daemon=True)

    def watch(self) -> None:
        """Begin; call it once."""
        self._watcher.start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._ended is None

    @property
    def ended_for(self) -> float:
        """Seconds since its end; 0 while it runs."""
        return 0.0 if self._ended is None else time.monotonic() - self._ended

    def info(self) -> ProcessInfo:
        """The process as it is now."""
        with self._lock:
            ended = self._ended
            code, killer = self._started.exit() if ended is not None else (None, None)
            return ProcessInfo(
                id=self.id,
                command=self.spec.command,
                cwd=self.spec.cwd,
                pid=self._started.pid,
                running=ended is None,
                seconds=(time.monotonic() if ended is None else ended) - self._began,
                pty=self.spec.pty,
                exit_code=code,
                signal=killer,
                waits_for=self._waits_for if ended is None else "",
                matches=tuple(self._matches),
                log=self._output.log(),
                notifies=self.spec.notify_on_complete,
            )

    def news(self) -> ProcessView:
        """The output since the last call."""
        with self._lock:
            text, missed, self._seen = self._output.since(self._seen)
        return ProcessView(self.info(), text, missed)

    def all_kept(self) -> ProcessView:
        """The whole output as far as it is kept."""
        text, missed, _ = self._output.since(0)
        return ProcessView(self.info(), text, missed)

    def wait(self, timeout: float, interrupt: Interrupt) -> None:
        """Return when it has ended or waits for input, or after `timeout` seconds.

        Raises:
            ToolInterrupted: the turn was cancelled.
        """
        with self._lock:
            self._waiters.append(interrupt.notify)
        try:
            interrupt.wait_for(lambda: not self.running or bool(self._waits_for), timeout)
        finally:
            with self._lock:
                self._waiters.remove(interrupt.notify)
        if interrupt.is_set():
            raise ToolInterrupted

    def end(self) -> None:
        """Begin to end it with its whole group, and do not wait."""
        self._wake.wake()

    def kill(self) -> None:
        """End it with its whole group, and see it gone."""
        self.end()
        self._watcher.join(_KILL_SECONDS)

    def write(self, data: bytes) -> None:
        """Put `data` into its input.

        Raises:
            CommandError: it has ended, its input is closed, or it does not read.
        """
        with self._typing:
            descriptor = self._started.typing
            if not self.running or descriptor < 0:
                reason = "its input is closed" if self.running else "it has ended"
                raise CommandError(f"Nothing was written to {self.id}: {reason}.")
            with self._lock:
                self._waits_for = ""
            _write_all(descriptor, data, self.id)

    def end_input(self) -> None:
        """Close its input; at a terminal, type Ctrl-D.

        Raises:
            CommandError: it has ended or its input is closed already.
        """
        if self.spec.pty:
            self.write(_END_OF_INPUT)
            return
        with self._typing:
            if self._started.typing < 0:
                raise CommandError(f"The input of {self.id} is closed already.")
            os.close(self._started.typing)
            self._started.typing = -1

    def _watch(self) -> None:
        watch = CommandWatch(
            self._started, self._wake, None, self._take, prompts=self._prompts, on_question=self._question
        )
        try:
            watch.run()
        finally:
            self._wake.close()
            with self._typing:  # nobody writes into a descriptor that is not its own any more
                self._on_closed(self._started)
            self._output.close()
            with self._lock:
                self._ended = time.monotonic()
            self._tell_waiters()
        self._on_event(ProcessEvent("completed" if self.spec.notify_on_complete else "ended", self.info()))

    def _take(self, text: str) -> None:
        self._output.add(text)
        with self._lock:
            self._waits_for = ""
        for pattern, line in self._patterns.saw(text):
            match = PatternMatch(pattern, line, time.monotonic() - self._began)
            with self._lock:
                self._matches.append(match)
            self._on_event(ProcessEvent("matched", self.info(), match))

    def _question(self, question: str) -> bool:
        with self._lock:
            self._waits_for = question
        self._tell_waiters()
        return False  # somebody may answer it

    def _tell_waiters(self) -> None:
        with self._lock:
            waiters = list(self._waiters)
        for notify in waiters:
            notify()


def _write_all(descriptor: int, data: bytes, process_id: str) -> None:
    writable = select.poll()
    writable.register(descriptor, select.POLLOUT)
    deadline = time.monotonic() + WRITE_SECONDS
    os.set_blocking(descriptor, False)
    left = data
    while left:
        if not writable.poll(max(0.0, deadline - time.monotonic()) * 1000):
            done = len(data) - len(left)
            raise CommandError(f"{process_id} does not read its input: {done} of {len(data)} bytes were taken.")
        try:
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(descriptor, left) :]
        except OSError as problem:
            raise CommandError(f"Nothing reads the input of {process_id} any more: {problem.strerror}.") from problem
