"""This process at a pseudo-terminal, with someone who reads what it writes and types when it is time."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest


class Person:
    """Reads on a thread of its own, and types each of `types` once the words before it were shown.

    Attributes:
        text: everything that was shown.
        is_gone: the window was closed.
    """

    def __init__(self, master: int, slave: int, types: Sequence[tuple[str, str]]) -> None:
        self.text = ""
        self.is_gone = False
        self._master, self._slave = master, slave
        self._types = list(types)
        self._seen = 0
        self._actions: list[tuple[str, Callable[[], object]]] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def once(self, words: str, action: Callable[[], object]) -> None:
        """Do this, on the reader's thread, once `words` were shown."""
        self._actions.append((words, action))

    def leave(self) -> None:
        """Close the window; only as an action of `once`."""
        self.is_gone = True
        os.close(self._master)

    def set_modes(self, modes: list[Any]) -> None:
        """Change the terminal's settings."""
        termios.tcsetattr(self._slave, termios.TCSANOW, modes)

    def modes(self) -> list[Any]:
        """The terminal's settings."""
        return termios.tcgetattr(self._slave)

    def resize(self, columns: int) -> None:
        """Make the window as wide as this."""
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def hear_to_the_end(self) -> str:
        """Everything that was shown, once there is no more of it."""
        os.write(self._slave, b"\x00")  # the reader's sign that this is all
        assert self._closed.wait(30), self.text
        return self.text

    def _read(self) -> None:
        decoder, written = codecs.getincrementaldecoder("utf-8")("replace"), ""  # a read may end within a character
        with contextlib.suppress(OSError):
            while "\x00" not in self.text and not self.is_gone:
                written += decoder.decode(os.read(self._master, 65536))
                self.text = written.replace("\r\n", "\n")
                self._type()
        self.text = self.text.replace("\x00", "")
        self._closed.set()

    def _type(self) -> None:
        due = [action for words, action in self._actions if words in self.text]
        self._actions = [action for action in self._actions if action[0] not in self.text]
        for action in due:
            action()
        while self._types and self._types[0][0] in self.text[self._seen :]:
            words, keys = self._types.pop(0)
            self._seen = self.text.index(words, self._seen) + len(words)
            os.write(self._master, keys.encode())


@contextlib.contextmanager
def at_terminal(
    monkeypatch: pytest.MonkeyPatch, *types: tuple[str, str], columns: int = 80, term: str = "xterm"
) -> Iterator[Person]:
    """While the block runs, this process's standard input and output are a terminal."""
    master, slave = pty.openpty()
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("NO_COLOR", raising=False)
    person = Person(master, slave, types)
    person.resize(columns)
    with (
        os.fdopen(os.dup(slave), "r", encoding="utf-8") as stdin,
        os.fdopen(os.dup(slave), "w", encoding="utf-8") as stdout,
        monkeypatch.context() as patched,
    ):
        patched.setattr(sys, "stdin", stdin)
        patched.setattr(sys, "stdout", stdout)
        try:
            yield person
        finally:
            with contextlib.suppress(OSError):
                person.hear_to_the_end()
            if person.is_gone:
                with contextlib.suppress(OSError):  # what could not be written is lost
                    stdout.close()
    os.close(slave)
    if not person.is_gone:
        os.close(master)
