"""Contents that are held in memory from one command to the next."""

from __future__ import annotations

import threading
import time

from tools.changes.facts import CLOCK_STEP_NS, Facts


class ContentCache:
    """Contents of files by path and facts, for one session; safe to use from several threads.

    Args:
        max_bytes: what is held at most; the oldest goes first.
    """

    def __init__(self, max_bytes: int = 16 << 20) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Facts, bytes]] = {}
        self._bytes = 0

    @property
    def size(self) -> int:
        """How many bytes are held."""
        return self._bytes

    def get(self, path: str, facts: Facts) -> bytes | None:
        """The content of `path` in the state that `facts` tell, if that is held."""
        held = self._held.get(path)
        return held[1] if held is not None and held[0] == facts else None

    def put(self, path: str, facts: Facts, content: bytes) -> None:
        """Hold what was read after `facts` were taken.

        A file that has only just changed is not held: it may change once more and look the same.
        """
        if facts.ctime_ns > time.time_ns() - CLOCK_STEP_NS or len(content) > self._max_bytes:
            return
        with self._lock:
            self._drop(path)
            while self._bytes + len(content) > self._max_bytes:
                self._drop(next(iter(self._held)))
            self._held[path] = (facts, content)
            self._bytes += len(content)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._held.clear()
            self._bytes = 0

    def _drop(self, path: str) -> None:
        held = self._held.pop(path, None)
        if held is not None:
            self._bytes -= len(held[1])
