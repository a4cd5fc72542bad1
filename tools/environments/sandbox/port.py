"""What one command may do, and who sees to it: between those who run commands and the kernel's mechanisms."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Level = Literal["read-only", "workspace-write", "full"]
Network = Literal["off", "proxy", "on"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may use; None where nothing is limited. Seconds of the processor, bytes, processes, bytes."""

    cpu_seconds: int | None = None
    memory: int | None = None
    processes: int | None = None
    file_size: int | None = None


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one command may do.

    Attributes:
        writable: directories in which it may change files; resolved.
        hidden: files and directories that it may neither read nor write; resolved.
        network: nothing, only what the session's proxy lets through, or everything.
    """

    level: Level
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    network: Network = "off"
    limits: Limits = field(default_factory=Limits)


class Sandbox(Protocol):
    """Starts a session's commands so that they can do what their confinement says and no more."""

    @property
    def name(self) -> str:
        """What it is made of: landlock, bubblewrap, seatbelt."""
        ...

    def popen(self, arguments: Sequence[str], confinement: Confinement, **popen: Any) -> subprocess.Popen[bytes]:
        """As `subprocess.Popen(arguments, **popen)`, confined.

        Raises:
            OSError: it could not be started, or not be confined; then nothing runs.
        """
        ...

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """What a command needs in its environment to live with its confinement."""
        ...

    def close(self) -> None:
        """The session has ended."""
        ...
