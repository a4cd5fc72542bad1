"""What sub-agents say while they work, as live output of the call that has them work: whole lines, and not all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_PAUSE = 0.3
_LONGEST_LINE = 300
_MOST_CHARS = 20_000
_ENOUGH = "[… more is in its transcript …]"


class LiveText:
    """Lines of several sub-agents, each with who says it. Safe to use from several threads.

    Args:
        show: shows text on the card.
        pause: seconds between two showings; what comes meanwhile is shown together.
        clock: monotonic seconds.
    """

    def __init__(
        self, show: Callable[[str], None], pause: float = _PAUSE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, str] = {}
        self._shown: dict[str, int] = {}
        self._waiting: list[str] = []
        self._next = 0.0

    def say(self, who: str, text: str) -> None:
        """More of what somebody says; only whole lines are shown."""
        with self._lock:
            *lines, rest = (self._open.get(who, "") + text).split("\n")
            # Of a line without end only its beginning is ever shown.
            self._open[who] = rest[: _LONGEST_LINE + 1]
            self._add(who, lines)
            self._flush(self._clock() >= self._next)

    def end(self, who: str, word: str = "") -> None:
        """Somebody's message is over; `word` is a last line of ours."""
        with self._lock:
            self._add(who, [self._open.pop(who, "")])
            if word:
                self._waiting.append(f"{who}: [{word}]\n")
            self._flush(bool(word) or self._clock() >= self._next)

    def close(self) -> None:
        """Show what waits."""
        with self._lock:
            self._flush(True)

    def _add(self, who: str, lines: list[str]) -> None:
        for line in filter(str.strip, lines):
            shown = self._shown.get(who, 0)
            if shown > _MOST_CHARS:
                return
            short = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
            self._shown[who] = shown + len(short)
            self._waiting.append(f"{who}: {short}\n")
            if self._shown[who] > _MOST_CHARS:
                self._waiting.append(f"{who}: {_ENOUGH}\n")

    def _flush(self, is_due: bool) -> None:
        if is_due and self._waiting:
            text, self._waiting = "".join(self._waiting), []
            self._next = self._clock() + self._pause
            self._show(text)
