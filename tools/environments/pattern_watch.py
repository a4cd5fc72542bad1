"""Finds watched texts in the lines of a running program's output, and does not cry too often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from tools.text.terminal_output import plain_text

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
