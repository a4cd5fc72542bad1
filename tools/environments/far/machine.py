"""The seam to another machine: who knows how a script gets there, and says what went wrong on the way."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Protocol, runtime_checkable

from tools.environments.process_groups import signal_group
from tools.errors import CommandError
from tools.light_dataclass import dataclass


class NotConnected(CommandError):
    """The connection has broken off; nothing was started. A new one may be made."""


_KILL = 9

Stream = int | IO[bytes] | None


@dataclass(frozen=True, slots=True)
class Streams:
    """What a program on this machine reads and writes, as `subprocess.Popen` takes it."""

    stdin: Stream = subprocess.DEVNULL
    stdout: Stream = subprocess.PIPE
    stderr: Stream = subprocess.PIPE


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """A program, a group of its own, that ends with the block at the latest."""
    try:
        yield
    finally:
        signal_group(process.pid, _KILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Machine(Protocol):
    """A machine that runs POSIX shell scripts, each behind a program on this one, whose streams are the script's.

    A script is the leader of a process group of its own there, and its program here ends when it does. All methods
    block, and may be called from several threads.
    """

    @property
    def name(self) -> str:
        """What people call it: «me@build.example.org», «the container hermes-acp-1a2b»."""
        ...

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Make it reachable and start the script by which it stays so: once that ends, the connection is over.

        Raises:
            CommandError: it cannot be reached.
        """
        ...

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start another script over the connection.

        Args:
            terminal: at a pseudo-terminal of its own; then all of `streams` is the near side's.

        Raises:
            NotConnected: the connection is gone. CommandError: it could not be started.
        """
        ...

    def why(self, complaint: str) -> str:
        """What the words of a program that could not get there mean, as a sentence that says what to do."""
        ...

    def close(self) -> None:
        """End the connection, and what there is only because of it."""
        ...


@runtime_checkable
class TellsUnstarted(Protocol):
    """A machine that knows of a program which never got there."""

    def never_started(self, complaint: str) -> bool:
        """Whether the words of a program that ended without an answer say that no script was started by it."""
        ...
