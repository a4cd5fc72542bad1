"""What a service has to offer so that sessions can work in its sandboxes. Its SDK stays behind these few calls.

All of them block, may be called from several threads, and may raise whatever the SDK raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Of a terminal, in characters."""

    rows: int
    columns: int


class Wire(Protocol):
    """One script at work in a sandbox."""

    def chunks(self) -> Iterator[bytes]:
        """What it prints, as it comes; ends when the script does, and raises where the connection broke off."""
        ...

    def send(self, data: bytes) -> None:
        """Give it input."""
        ...

    def end_input(self) -> None:
        """There is no more input."""
        ...

    def kill(self) -> None:
        """Nobody needs it any more: it ends, and so does `chunks`. Twice is once."""
        ...


class Sandbox(Protocol):
    """One that was made for a session."""

    @property
    def name(self) -> str:
        """As `Cloud.make` was told it."""
        ...

    def start(self, script: str, terminal: Size | None) -> Wire:
        """Start a script of POSIX shell.

        Args:
            terminal: its input and output are a terminal of that size; None: they are no terminal to it.
        """
        ...

    def end(self) -> None:
        """Remove it, with all that is in it."""
        ...


class Cloud(Protocol):
    """A service.

    Attributes:
        title: what people call it.
        sign_in: how one signs in to it, to complete «Sign in: …».
    """

    title: str
    sign_in: str

    def make(self, name: str) -> Sandbox:
        """Make a sandbox and wait until it runs. It ends by itself once its time is up."""
        ...

    def named(self, prefix: str) -> Iterator[Sandbox]:
        """The sandboxes that there are whose names begin so."""
        ...
