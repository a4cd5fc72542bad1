"""`terminal.backend: ssh`: the session works on another machine, with that machine's files."""

from __future__ import annotations

from pathlib import Path

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.far.making import side_of, with_places_there
from tools.environments.far.ssh import SshMachine, SshTarget


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
    side = side_of(SshMachine(target, variables=wanted.variables), wanted)
    return with_places_there(
        "ssh",
        side,
        wanted,
        f"it runs on {side.link.machine.name}, where this program has no sandbox",
        extra=wanted.extra_roots,
        start=str(options.get("cwd") or ""),
        wall="machine",
    )
