"""Keeps a connection's messages in a file, a line of JSON each, without the secrets in them.

A message costs its sender one `put`; a thread of the recorder's own reads, redacts and writes it. A file that cannot
be written to any more, or not as fast as messages come, ends the recording, never the session.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from acp_adapter import __version__
from acp_adapter.recording.opening import open_recording

if TYPE_CHECKING:
    from acp_adapter.recording.cleaning import Cleaner
    from tools.redaction import Redact

log = logging.getLogger(__name__)

Direction = Literal["in", "out"]
"""As the client sees it: `out` is to the agent, `in` from it. So it stands in the file, whoever records."""
Tap = Callable[[Direction, bytes], None]
"""Gets each line of a connection, on any thread; must not wait."""

_Taken = tuple[Direction, float, bytes]

FORMAT = 1
_QUIET_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0
_MOST_LINE = 100_000
_MOST_WAITING = 256 * 1024 * 1024


class Recorder:
    """One recording, which begins with a line about itself. Several may follow one another in a file."""

    def __init__(
        self, path: Path, redacting: Callable[[], Redact], program: str = f"hermes-acp {__version__}"
    ) -> None:
        """Open the file, for its owner alone, and begin to write at its end.

        Args:
            redacting: makes what takes the secrets out; called once, on the recorder's thread, when it is needed.
            program: who records, for the reader.

        Raises:
            RequestError: the file holds something else, or is the connection itself.
            OSError: the file cannot be opened for writing.
        """
        self._path = path
        self._file = open_recording(path)
        self._redacting = redacting
        self._start = time.monotonic()
        self._run = os.urandom(4).hex()
        self._queue: queue.SimpleQueue[_Taken | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._over = threading.Event()
        self._is_writing = True
        begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._write([{"recording": FORMAT, "program": program, "pid": os.getpid(), "at": begun}])
        threading.Thread(target=self._work, name="acp-recorder", daemon=True).start()

    def put(self, direction: Direction, line: bytes) -> None:
        """Keep one line of the connection."""
        with self._lock:
            if not self._is_writing:
                return
            is_room = self._waiting + len(line) <= _MOST_WAITING
            if is_room:
                self._waiting += len(line)
                self._queue.put((direction, time.monotonic() - self._start, line))
        if not is_room:
            self._give_up(f"{_MOST_WAITING >> 20} MiB wait to be written to {self._path}")

    def close(self, timeout: float) -> bool:
        """Wait, at most `timeout` seconds, until all that was put is written; False if it is not."""
        self._queue.put(None)
        return self._over.wait(timeout)

    def _work(self) -> None:
        try:
            if (first := self._queue.get()) is not None:
                self._write_all(first)
        except Exception:
            log.exception("the recording ends early: %s", self._path)
        finally:
            self._give_up("")
            os.close(self._file)
            self._over.set()

    def _write_all(self, taken: _Taken | None) -> None:
        from acp_adapter.recording.cleaning import Cleaner  # noqa: PLC0415 - after the first answer

        cleaner = Cleaner(self._redacting(), _PATIENCE_SECONDS)
        while taken is not None:
            self._write(cleaner.cleaned(self._entry(*taken)))
            taken = self._next(cleaner)
        self._write(cleaner.settled(is_over=True))

    def _next(self, cleaner: Cleaner) -> _Taken | None:
        """What was put next. During a long wait, what the cleaner holds back is written."""
        waited = 0.0
        while cleaner.holds:
            try:
                return self._queue.get(timeout=_QUIET_SECONDS)
            except queue.Empty:
                waited += _QUIET_SECONDS
                self._write(cleaner.settled(is_over=waited >= _PATIENCE_SECONDS))
        return self._queue.get()

    def _entry(self, direction: Direction, at: float, line: bytes) -> dict[str, Any]:
        with self._lock:
            self._waiting -= len(line)
        entry: dict[str, Any] = {"dir": direction, "t": round(at, 6)}
        try:
            return {**entry, "frame": json.loads(line)}
        except (ValueError, RecursionError):
            return {**entry, "line": line[:_MOST_LINE].decode(errors="replace")}

    def _write(self, entries: Iterable[dict[str, Any]]) -> None:
        lines = [json.dumps({"run": self._run, **entry}, ensure_ascii=False) for entry in entries]
        if not self._is_writing or not lines:
            return
        left = memoryview("".join(f"{line}\n" for line in lines).encode(errors="surrogatepass"))
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as problem:
            self._give_up(f"{self._path} could not be written to: {problem}")

    def _give_up(self, why: str) -> None:
        with self._lock:
            self._is_writing, was_writing = False, self._is_writing
        if why and was_writing:
            log.warning("the recording ends early: %s", why)
