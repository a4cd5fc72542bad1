"""What a person types at the terminal: lines, secrets, yes or no."""

from __future__ import annotations

import contextlib
import select
import sys
from collections.abc import Iterator
from typing import Protocol

from acp_adapter.format import safe_text

if sys.platform != "win32":
    import termios


class InputEnded(Exception):
    """There will be no more input: Ctrl-D, Escape at a menu, or the terminal is gone."""


class Withdrawn(Exception):
    """Whoever asked wants no answer any more."""


class Typed(Protocol):
    """Asks for a line."""

    def __call__(self, prompt: str, *, unseen: bool = False) -> str:
        """The line without its end. Raises InputEnded and KeyboardInterrupt."""
        ...


def plain_line(prompt: str, *, unseen: bool = False) -> str:
    """A line as the terminal itself edits it, where nothing can be drawn over; or of a pipe."""
    with _without_echo() if unseen else contextlib.nullcontext():
        print(prompt, end="", flush=True)
        try:
            line = sys.stdin.readline()
        except OSError:  # the terminal is gone
            line = ""
    if unseen or (not line and prompt):
        print(flush=True)  # the line break was not shown
    if not line:
        raise InputEnded
    return line.removesuffix("\n")


def is_more_there() -> bool:
    """Whether what was typed or pasted at the terminal goes on."""
    return sys.platform != "win32" and bool(select.select([sys.stdin], [], [], 0)[0])


def forget_typed() -> None:
    """Throw away what was typed and not read yet: it is no answer to what is asked now."""
    if sys.platform != "win32":
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    # Not `getpass`: it reads from the controlling terminal, which need not be the one that was given to us.
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class Terminal:
    """The person at standard input and output. Its questions raise InputEnded and KeyboardInterrupt."""

    def __init__(self, typed: Typed = plain_line) -> None:
        self._typed = typed

    def say(self, text: str = "") -> None:
        """Show a line or several."""
        print(safe_text(text), flush=True)

    def line(self, prompt: str, default: str = "") -> str:
        """What the person types, without spaces around it; `default` for nothing."""
        shown = f"{prompt} [{default}]" if default else prompt
        return self._typed(f"{safe_text(shown)}: ").strip() or default

    def secret(self, prompt: str) -> str:
        """The same, and what is typed is not shown."""
        return self._typed(f"{safe_text(prompt)} (not shown): ", unseen=True).strip()

    def agrees(self, prompt: str, *, default: bool = True) -> bool:
        """Whether the person says yes."""
        while True:
            typed = self.line(f"{prompt} {'[Y/n]' if default else '[y/N]'}").lower()
            if typed in {"", "y", "yes", "n", "no"}:
                return typed.startswith("y") if typed else default
