"""What one command may do, and who sees to it: between those who run commands and the kernel's mechanisms."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, Protocol

from tools.light_dataclass import dataclass

HOLDING = frozenset({"bubblewrap", "seatbelt"})
"""Mechanisms that can keep a single file of a writable directory from change."""

Level = Literal["read-only", "workspace-write", "full"]
Network = Literal["off", "proxy", "on"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may use; None where nothing is limited. Seconds of the processor, bytes, processes, bytes.

    All but `processes` count for each process of the command by itself; `processes` are those of the user that may
    come to those that run when the command starts.
    """

    cpu_seconds: int | None = None
    memory: int | None = None
    processes: int | None = None
    file_size: int | None = None


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may do.

    Attributes:
        level: change nothing; change what is `writable`; change everything. What is hidden is read on no level.
        writable: directories in which it may change files, on the level workspace-write; resolved.
        hidden: files and directories that it may neither read nor write; resolved. On the level `full` it may not
            read them.
        protected: in `writable` and not to be changed all the same; resolved. (Landlock can only keep a directory's
            entry so by making none in the directory at all: a mechanism of last resort, for what lies in a home.)
        held: places that others run later, which are there and nothing everyday changes; resolved. They are kept from
            change where the mechanism can do that for a single file; where it cannot, they are looked at afterwards.
        network: nothing, only what the session's proxy lets through, or everything.
    """

    level: Level
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    network: Network = "off"
    limits: Limits = field(default_factory=Limits)
    held: tuple[Path, ...] = ()


Promise = Literal["writes", "secrets", "network", "signals", "memory", "metadata"]
"""What a mechanism keeps a command from: changing files outside, reading hidden ones, reaching hosts, signalling
other processes, looking into them, changing the modes and owners of files outside."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What trying a mechanism has shown. `why_not` is '' where it works."""

    name: str
    works: bool
    why_not: str = ""
    promises: tuple[Promise, ...] = ()


class Sandbox(Protocol):
    """Starts a session's commands so that they can do what their confinement says and no more."""

    @property
    def name(self) -> str:
        """What it is made of: landlock, bubblewrap, seatbelt."""
        ...

    @property
    def hides_beside_changes(self) -> bool:
        """Whether a file can be hidden in a directory in which commands make files."""
        ...

    def popen(
        self, arguments: Sequence[str], confinement: Confinement, *, apart: bool = False, **popen: Any
    ) -> subprocess.Popen[bytes]:
        """As `subprocess.Popen(arguments, **popen)`, confined.

        Args:
            apart: what it leaves behind is to be ended by `end_left`, before the session ends.

        Raises:
            OSError: it could not be started, or not be confined; then nothing runs.
        """
        ...

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """What a command needs in its environment to live with its confinement.

        Raises:
            OSError: what it needs cannot be had; then the command must not run.
        """
        ...

    def end_left(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill what is left of a process that was started apart, wherever it has put itself.

        Returns:
            False where that is not known here: its group and what bears its mark are the caller's to end.
        """
        ...

    def refusals(self, process: subprocess.Popen[bytes]) -> tuple[str, ...]:
        """What the network of one of its commands refused, each once and in order."""
        ...

    def any_left(self) -> bool:
        """Whether a process of its commands is alive, wherever it has put itself, as far as that is known here."""
        ...

    def close(self) -> None:
        """The session has ended, and its commands with it."""
        ...
