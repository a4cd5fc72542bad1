"""What one command may do, and who sees to it: between those who run commands and the kernel's mechanisms."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

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


# A session's sandbox is made with its first command: to load and try one takes longer than to open a session.

_T = TypeVar("_T")


class Late(Generic[_T]):
    """Something of a session that is made once, when it is first asked for; safe to use from several threads.

    Args:
        make: makes it.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._is_over = False
        self._made: _T | None = None

    def __call__(self) -> _T:
        """It.

        Raises:
            OSError: the session is over, and none was made. Also what making it raises.
        """
        with self._lock:
            if self._made is None:
                if self._is_over:
                    raise OSError("The session has ended: it starts no new command.")
                self._made = self._make()
            return self._made

    def if_made(self) -> _T | None:
        """It, if it is there."""
        return self._made

    def end(self) -> _T | None:
        """From now on none is made; what was."""
        with self._lock:
            self._is_over = True
            return self._made


class LateSandbox:
    """The `Sandbox` port in front of one that is made when something is to be started in it.

    Args:
        make: makes it; None where none works on this machine.
    """

    def __init__(self, make: Callable[[], Sandbox | None]) -> None:
        self._sandbox = Late(lambda: _there(make()))

    @property
    def name(self) -> str:
        """As the port says.

        Raises:
            OSError: there is none.
        """
        return self._sandbox().name

    @property
    def hides_beside_changes(self) -> bool:
        """As the port says.

        Raises:
            OSError: there is none.
        """
        return self._sandbox().hides_beside_changes

    def popen(
        self, arguments: Sequence[str], confinement: Confinement, *, apart: bool = False, **popen: Any
    ) -> subprocess.Popen[bytes]:
        """As the port says."""
        return self._sandbox().popen(arguments, confinement, apart=apart, **popen)

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """As the port says."""
        return self._sandbox().variables(confinement)

    def end_left(self, process: subprocess.Popen[bytes]) -> bool:
        """As the port says."""
        made = self._sandbox.if_made()
        return made is not None and made.end_left(process)

    def refusals(self, process: subprocess.Popen[bytes]) -> tuple[str, ...]:
        """As the port says."""
        made = self._sandbox.if_made()
        return () if made is None else made.refusals(process)

    def any_left(self) -> bool:
        """As the port says."""
        made = self._sandbox.if_made()
        return made is not None and made.any_left()

    def close(self) -> None:
        """As the port says."""
        if (made := self._sandbox.end()) is not None:
            made.close()


def _there(sandbox: Sandbox | None) -> Sandbox:
    if sandbox is None:
        raise OSError("No sandbox works on this machine.")
    return sandbox
