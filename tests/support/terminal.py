"""A program at a pseudo-terminal, with someone who reads it and types."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.support.waiting import PATIENCE, wait_until

_SECONDS = PATIENCE


class Terminal:
    """Runs `command` with a terminal as its input and output; a context manager that ends it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)
        self.text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)

    def read_until(self, words: str) -> str:
        """Everything written so far, once it holds `words`."""
        while words not in self.text:
            if not self._read():
                raise AssertionError(f"{words!r} never came; the terminal shows:\n{self.text}")
        return self.text

    def type(self, text: str) -> None:
        """Type `text`."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C once the program waits: between its prompt and its reading Python would see it too late."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if stat.exists():
            wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S")
        self.process.send_signal(signal.SIGINT)

    def modes(self) -> list[Any]:
        """The terminal's settings: what is typed is shown, a line is read at once, and the like."""
        return termios.tcgetattr(self._master)

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self.process.wait(_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], _SECONDS)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux tells that nobody has the other side open any more
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
