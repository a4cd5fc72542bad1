"""What confined commands wanted to reach and did not, for the outcome that the model and the person read."""

from __future__ import annotations

import threading

_MOST = 1_000


class Refusals:
    """Safe to use from several threads; one a session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[tuple[int, str]] = []

    def add(self, command: int, what: str) -> None:
        """Take down a refusal: «example.org:443: the person said no»."""
        with self._lock:
            if len(self._entries) < _MOST:
                self._entries.append((command, what))

    def count(self) -> int:
        """How many there have been."""
        with self._lock:
            return len(self._entries)

    def since(self, mark: int = 0, command: int | None = None) -> tuple[str, ...]:
        """Those after the mark, of one command or of all, each once and in order."""
        with self._lock:
            found = (what for whose, what in self._entries[mark:] if command is None or whose == command)
            return tuple(dict.fromkeys(found))
