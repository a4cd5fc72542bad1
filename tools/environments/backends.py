"""Where sessions may work besides this machine: backends by the name that `terminal.backend` gives them.

A plugin registers one with `register_backend`. Its commands and files pass the same gates as this machine's: whatever
its own walls are, they make no question go away.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, Protocol

from tools.environments.containment import Containment
from tools.environments.guardian import Guardian
from tools.environments.remote.connection import FarFacts, Streams
from tools.light_dataclass import dataclass
from tools.ports import Environment, FileSystem, Interrupt
from tools.settings import ToolSettings
from tools.shell.session import Processes

LOCAL = "local"


Begin = Callable[[str, Streams], AbstractContextManager[subprocess.Popen[bytes]]]
"""Starts a script in a place with given streams, which ends with the block at the latest."""


class Rescue(Protocol):
    """Saves what killed processes have left in places, before these are removed."""

    def is_wanted(self, where: str) -> bool:
        """Whether there may be something to save on a machine of that name."""
        ...

    def save(self, where: str, begin: Begin) -> None:
        """Save it. Blocks for half a minute at most, and does not raise."""
        ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a session wants of its backend.

    Attributes:
        session_id: '' for none.
        cwd, extra_roots: the session's directories as its editor names them, on this machine.
        options: the part `terminal` of the user's settings; `backend_options` in it is a plugin's own.
        guardian: ends what is started here when this process is gone.
        rescue: saves what killed processes have left; None: nobody does.
        variables: what the environment of clients that are started here is made from.
    """

    session_id: str
    cwd: Path
    extra_roots: tuple[Path, ...]
    options: Mapping[str, Any]
    limits: ToolSettings
    guardian: Guardian
    rescue: Rescue | None = None
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where a session works that does not work on this machine.

    Attributes:
        backend: the name in the settings.
        where: what people call the machine.
        cwd, roots: the session's directories there, `cwd` first.
        real_roots: the same with links resolved.
        files: its files, for work that an interrupt ends; raises CommandError where it cannot be reached.
        facts: what it is; raises CommandError likewise.
        shared: directories whose files are this machine's, under the same names.
        containment: what is looked at around its commands; `sandbox` is None.
        command: runs a short script of ours there and tells what it prints; raises CommandError.
        problem: why it could not be looked at yet; '' where it could.
        wall: how far it is a sandbox of its own, for the person: `none`, `container` (a kernel is shared), `machine`.
        note: what the person should know of the backend when a session begins to work there, as a sentence.
        begin: starts a script of ours there with given streams, which ends with the block; None where the session's
            files are not the place's own, to be copied there first.
        outlives: what is in it stays when the session ends, for when it is opened again.
    """

    backend: str
    where: str
    cwd: Path
    roots: tuple[Path, ...]
    real_roots: tuple[Path, ...]
    files: Callable[[Interrupt | None], FileSystem]
    terminal: Environment
    processes: Processes
    facts: Callable[[], FarFacts]
    command: Callable[[str], bytes]
    close: Callable[[], None]
    shared: tuple[Path, ...] = ()
    containment: Containment = field(default_factory=Containment)
    problem: str = ""
    wall: Literal["none", "container", "machine"] = "none"
    note: str = ""
    begin: Begin | None = None
    outlives: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the person is told with the first turn."""
        return tuple(text for text in (self.problem, self.note) if text)


Factory = Callable[[Wanted], Elsewhere]

_FACTORIES: dict[str, Factory] = {}
_BUILT_IN = ("ssh", "docker")


def register_backend(name: str, factory: Factory) -> None:
    """Let `terminal.backend: NAME` mean what `factory` makes. It raises CommandError where its options are wrong.

    Raises:
        ValueError: the name is taken.
    """
    plain = name.strip().lower()
    if plain == LOCAL or plain in _BUILT_IN or plain in _FACTORIES:
        raise ValueError(f"There is a backend {plain!r} already; give yours another name.")
    _FACTORIES[plain] = factory


def forget_backend(name: str) -> None:
    """Take back a `register_backend`: the plugin that did it failed."""
    _FACTORIES.pop(name.strip().lower(), None)


def registered_backend(name: str) -> Factory | None:
    """What makes the backend of that name, if it was registered."""
    return _FACTORIES.get(name)


def backend_names() -> tuple[str, ...]:
    """All that there are, `local` first."""
    return (LOCAL, *_BUILT_IN, *sorted(_FACTORIES))
