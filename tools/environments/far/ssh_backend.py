"""`terminal.backend: ssh`: the session works on another machine, with that machine's files."""

from __future__ import annotations

from pathlib import Path

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.containment import Containment
from tools.environments.far.side import FarSide
from tools.environments.far.ssh import SshMachine, SshTarget
from tools.environments.far.surroundings import FarPlaces, FarSecrets, places_there
from tools.environments.local_processes import LocalProcesses
from tools.shell.memory import ShellMemory


def ssh_backend(wanted: Wanted) -> Elsewhere:
    """Connect to `ssh_host`; where that fails, the session is opened all the same, and its tools say why.

    Raises:
        CommandError: there is no ssh here, or the settings name no host.
    """
    options = wanted.options
    key = str(options.get("ssh_key") or "")
    port = options.get("ssh_port")
    target = SshTarget(
        str(options.get("ssh_host") or ""),
        str(options.get("ssh_user") or ""),
        int(port) if port else None,
        Path(key).expanduser() if key else None,
        tuple(options.get("ssh_options") or ()),
    )
    side = FarSide(SshMachine(target), wanted.guardian, wanted.limits, files_by=options.get("files_by") or "auto")
    places = places_there(side, wanted.cwd, wanted.extra_roots, str(options.get("cwd") or ""))
    where = side.link.machine.name
    return Elsewhere(
        backend="ssh",
        where=where,
        cwd=places.cwd,
        roots=places.roots,
        real_roots=places.real,
        files=side.files,
        terminal=side.environment,
        processes=LocalProcesses(side.environment, ShellMemory(places.cwd)),
        facts=side.facts,
        command=side.link.output_of,
        close=side.close,
        containment=Containment(
            why_not=f"it runs on {where}, where this program has no sandbox",
            places=FarPlaces(side.link, lambda: places.real),
            secrets=FarSecrets(side, lambda: places.real),
        ),
        problem=places.problem,
        wall="machine",
    )
