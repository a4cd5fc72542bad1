"""What a person types at the terminal: lines, secrets, yes or no."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import Protocol

from acp_adapter.format import safe_text

if sys.platform != "win32":
    import termios


class InputEnded(Exception):
    """There will be no more input: Ctrl-D, Escape at a menu, or the terminal is gone."""


class Withdrawn(Exception):
    """Whoever asked wants no answer any more."""


# A line as the terminal itself edits it: where nothing can be drawn over, and where no library is to be loaded.

_SECONDS_TO_LOOK_UP = 0.2  # for a signal, or that nobody waits for the answer any more
_LONGEST_LINE = 65536


def read_line(prompt: str = "", is_over: Callable[[], bool] = lambda: False) -> str:
    """The next line with its end; '' where there will be no more input.

    Raises:
        Withdrawn: `is_over` said so.
    """
    print(prompt, end="", flush=True)
    if sys.platform == "win32" or not sys.stdin.isatty():
        return sys.stdin.readline()
    # A signal just before a read begins would be seen only after the next line.
    while not select.select([sys.stdin], [], [], _SECONDS_TO_LOOK_UP)[0]:
        if is_over():
            raise Withdrawn
    try:
        return os.read(sys.stdin.fileno(), _LONGEST_LINE).decode("utf-8", "replace")
    except OSError:  # the terminal is gone
        return ""


def is_more_there() -> bool:
    """Whether what was typed or pasted at the terminal goes on."""
    return sys.platform != "win32" and bool(select.select([sys.stdin], [], [], 0)[0])


def forget_typed() -> None:
    """Throw away what was typed and not read yet."""
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


# A person who is asked for a line, a secret or a yes.


class Typed(Protocol):
    """Asks for a line."""

    def __call__(self, prompt: str, *, unseen: bool = False) -> str:
        """The line without its end. Raises InputEnded and KeyboardInterrupt."""
        ...


def typed_line(prompt: str, *, unseen: bool = False) -> str:
    """A line as the terminal itself edits it."""
    with _without_echo() if unseen else contextlib.nullcontext():
        line = read_line(prompt)
    if unseen:
        print(flush=True)  # the line break was not shown either
    if not line:
        raise InputEnded
    return line


class Terminal:
    """The person at standard input and output. Its questions raise InputEnded and KeyboardInterrupt."""

    def __init__(self, typed: Typed = typed_line) -> None:
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
