"""`terminal.backend: docker`: the session's commands run in a container that has its directories."""

from __future__ import annotations

import os
from pathlib import Path

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.far.docker import Box, DockerMachine
from tools.environments.far.making import shared_places, side_of, with_places_there, with_shared_places

_WITHOUT_MOUNT = "/workspace"


def docker_backend(wanted: Wanted) -> Elsewhere:
    """Start a container when something is first asked of it; where that fails, the session's tools say why.

    Raises:
        CommandError: there is no engine's program here.
    """
    options = wanted.options
    is_shared = bool(options.get("docker_mount", True))
    is_copied = options.get("sync", "off") != "off"
    start = str(options.get("cwd") or (os.path.realpath(wanted.cwd) if is_copied else _WITHOUT_MOUNT))
    box = Box(
        image=str(options.get("docker_image") or "debian:stable-slim"),
        mounts=shared_places(wanted) if is_shared else (),
        volumes=tuple(options.get("docker_volumes") or ()),
        network=str(options.get("docker_network") or "none"),
        forwarded=tuple(options.get("docker_forward_env") or ()),
        user=str(options.get("docker_user") or "auto"),
        cpus=options.get("container_cpu"),
        memory=options.get("container_memory"),
        processes=options.get("container_processes"),
        arguments=tuple(options.get("docker_args") or ()),
        kept=bool(options.get("container_persistent")),
        own=None if is_shared else Path(start),
    )
    machine = DockerMachine(
        box, wanted.session_id, str(options.get("docker_program") or ""), wanted.rescue, wanted.variables
    )
    side = side_of(machine, wanted, box.forwarded)
    why_not = f"it runs in {machine.name}, whose walls are the engine's and not this program's"
    if is_shared:
        return with_shared_places("docker", side, wanted, why_not)
    return with_places_there("docker", side, wanted, why_not, start=start, outlives=box.kept)
