"""What the person says while a turn runs, on its way to the model."""

from __future__ import annotations

import threading


class Steering:
    """The words of one turn that the model has not been told yet. Put from any thread, taken by the turn's worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: list[str] = []
        self._closed = False

    def put(self, text: str) -> bool:
        """Add words; False, and nothing happens, once the turn takes none any more."""
        with self._lock:
            if not self._closed:
                self._words.append(text)
            return not self._closed

    def take(self) -> str:
        """The words so far, '' if there are none; each is given once."""
        with self._lock:
            words, self._words = self._words, []
        return "\n\n".join(words)

    def take_or_close(self) -> str:
        """As `take`; where there are none, none are taken from now on: the turn may end."""
        with self._lock:
            words, self._words = self._words, []
            self._closed = self._closed or not words
        return "\n\n".join(words)

    def close(self) -> str:
        """Take no more; the words that the model was never told."""
        with self._lock:
            words, self._words = self._words, []
            self._closed = True
        return "\n\n".join(words)
