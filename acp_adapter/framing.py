"""Lines in and out of file descriptors, each by a thread of its own.

Threads with blocking calls work alike for pipes, sockets, terminals and regular files, and leave the descriptors'
flags alone, which other processes may share.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable

from acp_adapter.ready_writes import write_now

MAX_LINE = 64 * 1024 * 1024
_CHUNK = 256 * 1024
_WRITTEN_AT_ONCE = 1024 * 1024


class LineReader:
    """Reads lines from a descriptor and hands each to `on_line`, None at the end; runs on its own thread.

    A line beyond `MAX_LINE` bytes is handed over as `OVERSIZED`.
    """

    OVERSIZED = b"\x00oversized"

    def __init__(self, fd: int, on_line: Callable[[bytes | None], None]) -> None:
        self._fd = fd
        self._on_line = on_line

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._run, name="acp-reader", daemon=True).start()

    def is_hung_up(self) -> bool:
        """Whether nobody can send any more. What was sent before may still be unread; not every system tells."""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._fd, getattr(select, "POLLRDHUP", 0))
        return bool(poll.poll(0))

    def _run(self) -> None:
        pending: list[bytes] = []
        size = 0
        while chunk := self._read():
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                self._emit(pending, size, line)
                pending, size = [], 0
            size += len(rest)
            if size <= MAX_LINE:
                pending.append(rest)
            else:
                pending = []  # of an oversized line only its length is kept
        if size:
            self._emit(pending, size, b"")
        self._on_line(None)

    def _emit(self, pending: list[bytes], size: int, line: bytes) -> None:
        if size + len(line) > MAX_LINE:
            self._on_line(self.OVERSIZED)
            return
        whole = b"".join((*pending, line)) if pending else line
        if whole.strip():
            self._on_line(whole)

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._fd, _CHUNK)
            except BlockingIOError:
                select.select([self._fd], [], [])
            except OSError:
                return b""


class LineWriter:
    """One FIFO of bytes to a descriptor, written by a thread of its own.

    `put` never blocks. A line that the descriptor has room for goes out within it: a text that comes in small pieces
    then wakes no thread for each. Positions count bytes: whoever wants to know when something is out compares the
    position that `put` returned with `written`. After `broken`, data is dropped: the reader is gone, or `end` was
    called.
    """

    def __init__(self, fd: int, on_progress: Callable[[], None], on_broken: Callable[[], None]) -> None:
        self._fd = fd
        self._on_progress = on_progress
        self._on_broken = on_broken
        self._condition = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._position = 0
        self._ending = False
        self._writing = False
        self._write_now = write_now(fd)
        self.written = 0
        self.broken = False

    def start(self) -> None:
        """Begin to write what `put` cannot."""
        threading.Thread(target=self._run, name="acp-writer", daemon=True).start()

    def put(self, data: bytes) -> int:
        """Queue `data`; returns the position of its end."""
        with self._condition:
            self._position += len(data)
            if self.broken or self._ending:
                return self._position
            if not (self._queue or self._writing):
                out = self._write_now(data)
                self.written += out
                data = data[out:]
            if data:
                self._queue.append(data)
                self._condition.notify_all()
            return self._position

    def wait_written(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until everything queued is out."""
        with self._condition:
            return self._condition.wait_for(lambda: self.broken or self.written >= self._position, timeout)

    def end(self, timeout: float) -> bool:
        """Let the thread end once everything queued is out; waits up to `timeout` seconds for it.

        Returns:
            whether nothing more will be written.
        """
        with self._condition:
            self._ending = True
            self._condition.notify_all()
            return self._condition.wait_for(lambda: self.broken, timeout)

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._queue or self._ending)
                data = self._next()
                self._writing = True
                if not data:
                    self.broken = True
                    self._condition.notify_all()
            if not data:
                self._on_progress()
                return
            if not self._write(data):
                self._break()
                return
            with self._condition:
                self.written += len(data)
                self._writing = False
                self._condition.notify_all()
            self._on_progress()

    def _next(self) -> bytes:
        """As many lines as are written in one go: who waits for the first of many hears of it before the last."""
        lines: list[bytes] = []
        size = 0
        while self._queue and (not lines or size + len(self._queue[0]) <= _WRITTEN_AT_ONCE):
            lines.append(self._queue.popleft())
            size += len(lines[-1])
        return b"".join(lines) if len(lines) != 1 else lines[0]

    def _write(self, data: bytes) -> bool:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except OSError:
                return False
        return True

    def _break(self) -> None:
        with self._condition:
            self.broken = True
            self._queue.clear()
            self._condition.notify_all()
        self._on_broken()
