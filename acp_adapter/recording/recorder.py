"""Keeps a connection's messages in a file, a line of JSON each, without the secrets in them.

A message costs its sender one `put`; a thread of the recorder's own reads, redacts and writes it. A file that cannot
be written to any more ends the recording, never the session.
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

from acp_adapter.version import __version__

if TYPE_CHECKING:
    from acp_adapter.recording.cleaning import Cleaner
    from tools.redaction.redactor import Redact

log = logging.getLogger(__name__)

Direction = Literal["in", "out"]
"""As the client sees it: `out` is to the agent, `in` from it. So it stands in the file, whoever records."""
Tap = Callable[[Direction, bytes], None]
"""Gets each line of a connection, on any thread; must not wait."""

FORMAT = 1
_QUIET_SECONDS = 0.5
_MOST_LINE = 2_000


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
            OSError: the file cannot be opened for writing.
        """
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._redacting = redacting
        self._start = time.monotonic()
        self._run = os.urandom(4).hex()
        self._queue: queue.SimpleQueue[tuple[Direction, float, bytes] | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._is_writing = True
        begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._write([{"recording": FORMAT, "run": self._run, "program": program, "pid": os.getpid(), "at": begun}])
        threading.Thread(target=self._work, name="acp-recorder", daemon=True).start()

    def put(self, direction: Direction, line: bytes) -> None:
        """Keep one line of the connection."""
        self._queue.put((direction, time.monotonic() - self._start, line))

    def close(self, timeout: float) -> bool:
        """Wait, at most `timeout` seconds, until all that was put is written; False if it is not."""
        self._queue.put(None)
        return self._over.wait(timeout)

    def _work(self) -> None:
        cleaner: Cleaner | None = None
        try:
            while (taken := self._next(cleaner)) is not None:
                if cleaner is None:
                    from acp_adapter.recording.cleaning import Cleaner  # noqa: PLC0415 - after the first answer

                    cleaner = Cleaner(self._redacting())
                self._write(self._told(cleaner, *taken))
            if cleaner is not None:
                self._write(map(self._marked, cleaner.rest()))
        finally:
            os.close(self._file)
            self._over.set()

    def _next(self, cleaner: Cleaner | None) -> tuple[Direction, float, bytes] | None:
        """What was put next. Before a long wait, what the cleaner holds back is written."""
        while cleaner is not None and cleaner.holds:
            try:
                return self._queue.get(timeout=_QUIET_SECONDS)
            except queue.Empty:
                self._write(map(self._marked, cleaner.rest()))
        return self._queue.get()

    def _told(self, cleaner: Cleaner, direction: Direction, at: float, line: bytes) -> Iterable[dict[str, Any]]:
        entry: dict[str, Any] = {"dir": direction, "t": round(at, 6)}
        try:
            entry["frame"] = json.loads(line)
        except (ValueError, RecursionError):
            entry["line"] = line[:_MOST_LINE].decode(errors="replace")
        return map(self._marked, cleaner.cleaned(entry))

    def _marked(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {"run": self._run, **entry}

    def _write(self, entries: Iterable[dict[str, Any]]) -> None:
        data = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
        if not self._is_writing or not data:
            return
        left = memoryview(data.encode(errors="surrogatepass"))
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as problem:
            self._is_writing = False
            log.warning("the recording ends early: %s could not be written to: %s", self._path, problem)
