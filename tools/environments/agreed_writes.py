"""What calls of tools were allowed to write while a program ran that made them: nobody is asked about it again."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path


class AgreedWrites:
    """The writes of one session, noted while programs or background commands run. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._programs = 0
        self._contents: dict[Path, bytes] = {}

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """While it lasts, a program runs."""
        with self._lock:
            self._programs += 1
        try:
            yield
        finally:
            with self._lock:
                self._programs -= 1
                if not self._programs:
                    self._contents.clear()

    def note(self, path: Path, content: bytes | None, *, is_left: bool = False) -> None:
        """It was allowed to write this to `path` (resolved); None: to remove it.

        Args:
            is_left: commands run in the background, whose changes are looked at later.
        """
        with self._lock:
            if (self._programs or is_left) and content is not None:
                self._contents[path] = hashlib.sha256(content).digest()

    def covers(self, path: Path, content: bytes | None) -> bool:
        """Whether that is what was allowed last."""
        with self._lock:
            agreed = self._contents.get(path)
        return agreed is not None and content is not None and agreed == hashlib.sha256(content).digest()
