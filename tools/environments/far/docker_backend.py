"""`terminal.backend: docker`: the session's commands run in a container that has its directories."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.containment import Containment
from tools.environments.far.docker import Box, DockerMachine
from tools.environments.far.side import FarSide
from tools.environments.far.surroundings import FarPlaces, FarSecrets, places_there
from tools.environments.kept_places import KeptPlaces
from tools.environments.local_processes import LocalProcesses
from tools.environments.workspace_secrets import WorkspaceSecrets
from tools.settings import ToolSettings
from tools.shell.memory import ShellMemory

_WITHOUT_MOUNT = "/workspace"


def docker_backend(wanted: Wanted) -> Elsewhere:
    """Start a container when something is first asked of it; where that fails, the session's tools say why.

    Raises:
        CommandError: there is no engine's program here.
    """
    options = wanted.options
    named = (wanted.cwd, *wanted.extra_roots)
    real = tuple(Path(os.path.realpath(root)) for root in named)
    is_shared = bool(options.get("docker_mount", True))
    box = Box(
        image=str(options.get("docker_image") or "debian:stable-slim"),
        mounts=tuple(dict.fromkeys((*real, *named))) if is_shared else (),
        volumes=tuple(options.get("docker_volumes") or ()),
        network=str(options.get("docker_network") or "none"),
        forwarded=tuple(options.get("docker_forward_env") or ()),
        user=str(options.get("docker_user") or "auto"),
        cpus=options.get("container_cpu"),
        memory=options.get("container_memory"),
        processes=options.get("container_processes"),
        arguments=(*(() if is_shared else (f"--workdir={_WITHOUT_MOUNT}",)), *(options.get("docker_args") or ())),
        kept=bool(options.get("container_persistent")),
    )
    machine = DockerMachine(box, wanted.session_id, str(options.get("docker_program") or ""))
    side = FarSide(
        machine, wanted.guardian, _passing(wanted.limits, box.forwarded), files_by=options.get("files_by") or "auto"
    )
    why_not = f"it runs in {machine.name}, whose walls are the engine's and not this program's"
    if is_shared:
        # Nothing has to be asked to know where it works.
        cwd, roots, real_roots, problem = wanted.cwd, named, real, ""
        containment = Containment(why_not=why_not, places=KeptPlaces(real), secrets=WorkspaceSecrets(real))
    else:
        there = str(options.get("cwd") or _WITHOUT_MOUNT)
        places = places_there(side, wanted.cwd, (), there)
        cwd, roots, real_roots, problem = places.cwd, places.roots, places.real, places.problem
        containment = Containment(
            why_not=why_not,
            places=FarPlaces(side.link, lambda: real_roots),
            secrets=FarSecrets(side, lambda: real_roots),
        )
    return Elsewhere(
        backend="docker",
        where=machine.name,
        cwd=cwd,
        roots=roots,
        real_roots=real_roots,
        files=side.files,
        terminal=side.environment,
        processes=LocalProcesses(side.environment, ShellMemory(cwd)),
        facts=side.facts,
        command=side.link.output_of,
        close=side.close,
        shared=tuple(dict.fromkeys((*named, *real))) if is_shared else (),
        containment=containment,
        problem=problem,
        wall="container",
    )


def _passing(limits: ToolSettings, names: tuple[str, ...]) -> ToolSettings:
    """Whoever has named a variable for the container wants its commands to have it, whatever it looks like."""
    known = limits.terminal.passthrough
    return replace(
        limits, terminal=replace(limits.terminal, passthrough=replace(known, names=(*known.names, *names)))
    )
