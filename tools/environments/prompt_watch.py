"""Notices that a running program waits for somebody to type."""

from __future__ import annotations

import time

from tools.text.terminal_output import FULL_SCREEN, TAIL_CHARS, open_line, question, takes_the_screen

_LFLAG = 3


class PromptWatch:
    """Sees the output; a question at its end and then silence mean that the program waits.

    Args:
        quiet_seconds: how long the silence has to be.
        terminal: the descriptor of the program's pseudo-terminal, None where it has none. A terminal that does not
            echo what is typed tells of a password, whatever the question looks like.
    """

    def __init__(self, quiet_seconds: float, terminal: int | None = None) -> None:
        self._quiet = quiet_seconds
        self._terminal = terminal
        self._tail = ""
        self._has_screen = False
        self.due: float | None = None
        """When to call `waits_for`, on the monotonic clock; None for not before there is more output."""

    def saw(self, text: str) -> None:
        """The program has printed `text`."""
        if self._terminal is not None:
            # A sequence that came in two pieces has its beginning in the old tail.
            self._has_screen = takes_the_screen(self._tail[-8:] + text, was=self._has_screen)
        self._tail = (self._tail + text)[-TAIL_CHARS:]
        self.due = time.monotonic() + self._quiet if self._may_wait() else None

    def waits_for(self) -> str:
        """The question that the program waits at, '' when it does not seem to wait."""
        self.due = None
        if self._has_screen:
            return FULL_SCREEN
        found = question(self._tail)
        return found or (open_line(self._tail) if self._hides_typing() else "")

    def _may_wait(self) -> bool:
        return self._has_screen or not self._tail.endswith("\n")

    def _hides_typing(self) -> bool:
        if self._terminal is None:
            return False
        import termios  # noqa: PLC0415 - not on every system

        try:
            flags: int = termios.tcgetattr(self._terminal)[_LFLAG]
        except termios.error:
            return False
        return bool(flags & termios.ICANON) and not flags & termios.ECHO
