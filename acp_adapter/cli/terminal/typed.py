"""Reading what a person types, line by line, so that Ctrl-C is seen at once, on every system; or key by key."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import time
from collections.abc import Iterator
from typing import Any

from acp_adapter.cli.client.client import SECONDS_TO_SEE_A_SIGNAL

if sys.platform == "win32":
    import msvcrt
else:
    import termios

_LONGEST_LINE = 4096
_END = "\x1a"  # Ctrl-Z, as Windows has it
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
_ARROWS = {b"\x1b[A": "up", b"\x1b[B": "down", b"\x1bOA": "up", b"\x1bOB": "down"}
_NAMES = {
    b"\r": "enter",
    b"\n": "enter",
    b"\x10": "up",
    b"\x0e": "down",
    b"\x04": "end",
    b"\x1b": "escape",
}
_SECONDS_OF_A_SEQUENCE = 0.05
_MOST_BYTES = 1024
_LOCAL_FLAGS = 3


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


class TerminalGone(Exception):
    """There is nobody at the terminal any more."""


@contextlib.contextmanager
def single_keys(descriptor: int) -> Iterator[Keys]:
    """While the block runs, keys come one by one and are not shown; Ctrl-C and Ctrl-Z stay signals.

    What was typed before is dropped: it was no answer to what is asked now.

    Raises:
        TerminalGone: there is none any more.
    """
    try:
        before = termios.tcgetattr(descriptor)
        termios.tcflush(descriptor, termios.TCIFLUSH)
    except termios.error as error:
        raise TerminalGone from error
    keys = Keys(descriptor)
    try:
        try:
            keys.keep()
            yield keys
        finally:
            _restore(descriptor, before)
    except BaseException:  # a signal may have come in the middle of it
        _restore(descriptor, before)
        raise


def _restore(descriptor: int, modes: list[Any]) -> None:
    with contextlib.suppress(termios.error):  # the terminal is gone
        termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)


class Keys:
    """Reads keys."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[str] = []

    def keep(self) -> bool:
        """Switch to single keys; True if that was needed: a shell may have switched back while we were stopped."""
        with contextlib.suppress(termios.error):  # the terminal is gone; the next key says so
            modes = termios.tcgetattr(self._descriptor)
            wanted = modes[_LOCAL_FLAGS] & ~(termios.ICANON | termios.ECHO)
            if modes[_LOCAL_FLAGS] != wanted:
                modes[_LOCAL_FLAGS] = wanted
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, modes)
                return True
        return False

    def next(self, seconds: float) -> str:
        """The next key: its sign, or `up`, `down`, `enter`, `escape`, `end`; '' if there was none in time."""
        if not self._waiting and self._ready(seconds):
            self._waiting = self._read()
        return self._waiting.pop(0) if self._waiting else ""

    def _read(self) -> list[str]:
        try:
            data = os.read(self._descriptor, _MOST_BYTES)
        except OSError:
            data = b""
        if not data:  # the terminal is gone
            return ["end"]
        # What a key sends may come in two pieces; Escape itself is followed by nothing.
        while _ends_open(data) and self._ready(_SECONDS_OF_A_SEQUENCE):
            more = os.read(self._descriptor, _MOST_BYTES)
            if not more:
                break
            data += more
        return list(_keys(data))

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])


def _ends_open(data: bytes) -> bool:
    tail = data[data.rfind(b"\x1b") :] if b"\x1b" in data else b""
    return bool(tail) and not _SEQUENCE.match(tail)


def _keys(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        if found := _SEQUENCE.match(data, at):
            at = found.end()
            if name := _ARROWS.get(found[0]):
                yield name
            continue
        sign = data[at : at + 1]
        at += 1
        if name := _NAMES.get(sign):
            yield name
        elif sign.isascii() and sign.decode().isprintable():
            yield sign.decode()
