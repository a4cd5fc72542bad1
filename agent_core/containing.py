"""How the commands of a session are contained: the user's settings, this machine's places, the best sandbox here."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.settings.sections import SandboxPart
from tools.environments.containment import Containment, GatedHosts, Grounds
from tools.environments.persistence_watch import KeptPlaces
from tools.environments.sandbox.places import (
    WorkspaceSecrets,
    cache_places,
    cache_tools,
    hidden_places,
    not_within,
    protected_places,
    signs_of,
    temporary_places,
)
from tools.environments.sandbox.port import Late, LateSandbox, Limits, Sandbox

if TYPE_CHECKING:
    from tools.environments.sandbox.network.hosts import HostRules
    from tools.environments.sandbox.network.session_network import SessionNetwork

_MIB = 1024 * 1024


def containment_of(
    settings: SandboxPart, roots: Sequence[Path], own: Path, unseen: Sequence[Path] = ()
) -> Containment:
    """The containment of a session whose directories are `roots`; its sandbox is made with the first command.

    Args:
        own: this program's home, which no command sees.
        unseen: what else none may see, because the user's rules say so.

    Raises:
        SettingsError: a host in the settings cannot be read.
    """
    real = tuple(Path(os.path.realpath(root)) for root in roots)
    from tools.environments.git import remote_hosts  # noqa: PLC0415 - not at the start
    from tools.environments.sandbox.network.hosts import HostRules, NetworkRules  # noqa: PLC0415

    hosts = GatedHosts()
    rules = NetworkRules(settings.allow_hosts, settings.deny_hosts, settings.registries)
    try:
        # Now: what somebody writes into `.git/config` during the session allows nothing.
        reachable = HostRules(rules, remote_hosts(real))
    except ValueError as problem:
        raise SettingsError(f"The settings of `sandbox` name a host that cannot be read: {problem}") from problem
    network = Late(lambda: _network(hosts, reachable))
    return Containment(
        sandbox=LateSandbox(lambda: _sandbox(network)),
        why_not=_why_none,
        level=settings.level,
        network=settings.network,
        limits=Limits(
            settings.cpu_seconds, _bytes(settings.memory_mb), settings.processes, _bytes(settings.file_size_mb)
        ),
        grounds=_Places(settings, real, (own, *unseen)),
        places_told=_places_told(settings),
        hosts_told=reachable.told(),
        places=KeptPlaces(real),
        secrets=WorkspaceSecrets(real),
        hosts=hosts,
        on_close=lambda: _close(network.end()),
    )


def _places_told(settings: SandboxPart) -> str:
    """Where commands may change files, in words for the model."""
    caches = ("package caches",) if settings.caches else ()
    places = ["the session's directories", "temporary directories", *caches, *settings.writable]
    return f"{', '.join(places[:-1])} and {places[-1]}"


def find_sandbox() -> None:
    """Find out which sandbox works here, as far as the system prompt tells it."""
    from tools.environments.sandbox.probe import reaches_hosts  # noqa: PLC0415 - in the background

    reaches_hosts()


def load_sandbox() -> None:
    """Find out which sandbox works here, and load what a session's first command makes of it."""
    from tools.environments.sandbox.network import session_network  # noqa: F401, PLC0415
    from tools.environments.sandbox.probe import why_none  # noqa: PLC0415 - in the background

    why_none()


def _why_none() -> str:
    from tools.environments.sandbox.probe import why_none  # noqa: PLC0415 - with the first command

    return why_none()


def _sandbox(network: Late[SessionNetwork]) -> Sandbox | None:
    from tools.environments.sandbox.probe import make_sandbox  # noqa: PLC0415 - with the first command

    return make_sandbox(network)


def _network(gate: GatedHosts, hosts: HostRules) -> SessionNetwork:
    from tools.environments.sandbox.network.session_network import SessionNetwork  # noqa: PLC0415 - likewise

    return SessionNetwork(gate, hosts)


def _close(network: SessionNetwork | None) -> None:
    if network is not None:
        network.close()


class _Places:
    """The places on this machine. Safe to use from several threads.

    What may be written is looked up once, before the first command: none must lead the next one elsewhere. What is
    hidden and protected is looked up again when something there has come or changed: a sign-in may come at any time.
    """

    def __init__(self, settings: SandboxPart, roots: tuple[Path, ...], own: tuple[Path, ...]) -> None:
        self._settings = settings
        self._roots = roots
        self._own = own
        self._lock = threading.Lock()
        self._signs: tuple[object, ...] = ()
        self._found: Grounds | None = None

    def __call__(self) -> Grounds:
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - never raises
        with self._lock:
            signs = signs_of(home, self._own)
            if self._found is None or signs != self._signs:
                writable = self._look(home) if self._found is None else self._found.writable
                hidden = hidden_places(home, self._own, self._roots)
                self._found = Grounds(writable, hidden, protected_places(home, self._roots))
                self._signs = signs
            return self._found

    def _look(self, home: Path) -> tuple[Path, ...]:
        installed = filter(shutil.which, cache_tools())  # noqa: TID251 - what commands find, and nothing is run
        caches = cache_places(home, installed) if self._settings.caches else ()
        found = (*self._roots, *temporary_places(os.environ, self._roots), *caches)
        added = not_within((Path(text).expanduser() for text in self._settings.writable), found)
        return (*found, *(path for path in added if path.is_dir()))


def _bytes(mebibytes: int | None) -> int | None:
    return None if mebibytes is None else mebibytes * _MIB
