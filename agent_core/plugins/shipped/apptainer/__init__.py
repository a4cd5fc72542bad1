"""`terminal.backend: apptainer`, or singularity: commands run in an instance that has the session's directories."""

from __future__ import annotations

from agent_core.plugins.plugin import PluginContext
from tools.environments.backends import Elsewhere, Wanted
from tools.environments.remote.containers import ApptainerMachine, Box
from tools.environments.remote.session import experimental, shared_places, side_of, with_shared_places

_IMAGE = "docker://debian:stable-slim"
_NOTE = experimental("apptainer", "the real program")


def register(ctx: PluginContext) -> None:
    """Offer the backend."""
    ctx.register_environment("apptainer", apptainer_backend)


def apptainer_backend(wanted: Wanted) -> Elsewhere:
    """Start an instance when something is first asked of it; where that fails, the session's tools say why.

    Raises:
        CommandError: there is no such program here.
    """
    options = wanted.options
    box = Box(
        image=str(options.get("singularity_image") or _IMAGE),
        mounts=shared_places(wanted),
        network="host" if options.get("container_network") == "open" else "none",
        forwarded=tuple(options.get("docker_forward_env") or ()),
        cpus=options.get("container_cpu"),
        memory=options.get("container_memory"),
        arguments=tuple(options.get("singularity_args") or ()),
    )
    program = str(options.get("singularity_program") or "")
    machine = ApptainerMachine(box, wanted.session_id, program, wanted.rescue, wanted.variables)
    side = side_of(machine, wanted, box.forwarded)
    why_not = f"it runs in {machine.name}, whose walls are apptainer's and not this program's"
    return with_shared_places("apptainer", side, wanted, why_not, note=_NOTE)
