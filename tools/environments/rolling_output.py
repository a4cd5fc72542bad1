"""The last part of an endless output, and a file with all of it once it is longer than that."""

from __future__ import annotations

import threading
from pathlib import Path

from tools.environments.output_file import OutputFile


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
