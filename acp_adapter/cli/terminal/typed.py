"""Reading what a person types, line by line, so that Ctrl-C is seen at once, on every system."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Iterator

from acp_adapter.cli.client.client import SECONDS_TO_SEE_A_SIGNAL

if sys.platform == "win32":
    import msvcrt
else:
    import termios

_LONGEST_LINE = 4096
_END = "\x1a"  # Ctrl-Z, as Windows has it


def read_line(prompt: str) -> str:
    """The next line with its end; '' where there will be no more input."""
    print(prompt, end="", flush=True)
    # Not `input()`: a signal just before its read begins would be seen only after the next line. Nor `getpass`: it
    # reads from the controlling terminal, which need not be the one that was given to us.
    if sys.platform == "win32":
        return _typed_keys(echoes=True)
    while not select.select([sys.stdin], [], [], SECONDS_TO_SEE_A_SIGNAL)[0]:
        pass
    return os.read(sys.stdin.fileno(), _LONGEST_LINE).decode("utf-8", "replace")


def read_unseen(prompt: str) -> str:
    """The same, and what is typed is not shown."""
    if sys.platform == "win32":
        print(prompt, end="", flush=True)
        return _typed_keys(echoes=False)
    with _without_echo():
        return read_line(prompt)


def forget_typed() -> None:
    """Throw away what was typed and not read yet."""
    if sys.platform == "win32":
        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


if sys.platform == "win32":

    def _typed_keys(*, echoes: bool) -> str:
        line = ""
        while True:
            while not msvcrt.kbhit():  # `select` knows no consoles there
                time.sleep(SECONDS_TO_SEE_A_SIGNAL)
            key = msvcrt.getwch()
            if key == "\x03":
                raise KeyboardInterrupt
            if key in "\r\n":
                print(flush=True)
                return f"{line}\n"
            if key == _END and not line:
                return ""
            line = line[:-1] if key == "\b" else line + key
            if echoes:
                print("\b \b" if key == "\b" else key, end="", flush=True)


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
