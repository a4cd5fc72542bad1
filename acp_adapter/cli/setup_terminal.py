"""Asking the person at the terminal for a line, a secret or a yes."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from collections.abc import Iterator

from acp_adapter.cli.client import SECONDS_TO_SEE_A_SIGNAL
from acp_adapter.cli.safe_text import safe_text

_LONGEST_LINE = 4096


class InputEnded(Exception):
    """There will be no more input: Ctrl-D, or the terminal is gone."""


class Terminal:
    """The person at standard input and output. Its questions raise InputEnded and KeyboardInterrupt."""

    def say(self, text: str = "") -> None:
        """Show a line or several."""
        print(safe_text(text), flush=True)

    def line(self, prompt: str, default: str = "") -> str:
        """What the person types, without spaces around it; `default` for nothing."""
        shown = f"{prompt} [{default}]" if default else prompt
        return _read_line(f"{safe_text(shown)}: ").strip() or default

    def secret(self, prompt: str) -> str:
        """The same, and what is typed is not shown."""
        with _without_echo():
            typed = _read_line(f"{safe_text(prompt)} (not shown): ").strip()
        print(flush=True)  # the line break was not shown either
        return typed

    def agrees(self, prompt: str, *, default: bool = True) -> bool:
        """Whether the person says yes."""
        while True:
            typed = self.line(f"{prompt} {'[Y/n]' if default else '[y/N]'}").lower()
            if typed in {"", "y", "yes", "n", "no"}:
                return typed.startswith("y") if typed else default


def _read_line(prompt: str) -> str:
    print(prompt, end="", flush=True)
    # Not `input()`: a signal just before its read begins would be seen only after the next line. Nor `getpass`: it
    # reads from the controlling terminal, which need not be the one that was given to us.
    while not select.select([sys.stdin], [], [], SECONDS_TO_SEE_A_SIGNAL)[0]:
        pass
    line = os.read(sys.stdin.fileno(), _LONGEST_LINE).decode("utf-8", "replace")
    if not line:
        raise InputEnded
    return line


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
