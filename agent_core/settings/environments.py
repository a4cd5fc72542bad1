"""What a user can set about commands and about the machine that sessions work on: the part `terminal`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from agent_core.settings.tools import ToolPart

# Upstream's names for what is called otherwise here.
_OTHER_NAMES = {"env_type": "backend", "docker_mount_cwd_to_workspace": "docker_mount"}
_OTHER_BACKENDS = {
    "native": "local",
    "host": "local",
    "podman": "docker",
    "singularity": "apptainer",
    "vercel_sandbox": "vercel",
}


class TerminalPart(ToolPart):
    """How and where commands run."""

    understood: ClassVar[frozenset[str]] = frozenset(_OTHER_NAMES)

    timeout: float = Field(
        180.0,
        gt=0,
        le=600,
        allow_inf_nan=False,
        description="Seconds a command may take where the model asks for no other time.",
    )
    env_passthrough: tuple[str, ...] = Field(
        (), description="Variables, or patterns (`MY_APP_*`), that commands get though they look like secrets."
    )
    backend: str = Field(
        "local",
        description="`local`, `ssh`, `docker`, `apptainer`, `modal`, `daytona`, `vercel`, or a plugin's.",
    )
    backend_options: dict[str, Any] = Field(default_factory=dict, description="What the backend of a plugin is told.")
    cwd: str = Field(
        "", description="The directory on the other machine; empty: the one of the same name, or else the home."
    )
    files_by: Literal["auto", "python", "sh"] = Field(
        "auto", description="What reads and writes files there: its python3 (3.7 or later), or its shell."
    )
    sync: Literal["off", "in", "both"] = Field(
        "off",
        description="Where a place shares no files: in: the workspace is copied there; both: changes come back.",
    )
    sync_files: int = Field(20_000, ge=1, description="So many files are copied there at most.")
    sync_megabytes: int = Field(200, ge=1, description="So much is copied there at most.")
    ssh_host: str = Field("", description="ssh: the host, or a name of `~/.ssh/config`.")
    ssh_user: str = Field("", description="ssh: the user there; empty: as ssh has it.")
    ssh_port: int | None = Field(None, ge=1, le=65535, description="ssh: the port; empty: as ssh has it.")
    ssh_key: str = Field("", description="ssh: the file of the key; empty: as ssh has it.")
    ssh_options: tuple[str, ...] = Field((), description="ssh: further options, each as `Name=value`.")
    docker_image: str = Field("debian:stable-slim", description="docker: the image of the sessions' containers.")
    docker_program: str = Field("", description="docker: the engine's program; empty: docker, or else podman.")
    docker_mount: bool = Field(
        True,
        description="docker: the session's directories are this machine's (also `docker_mount_cwd_to_workspace`).",
    )
    docker_volumes: tuple[str, ...] = Field((), description="docker: more of this machine, as `/data:/data:ro`.")
    docker_network: Literal["none", "bridge", "host"] = Field("none", description="docker: what the network is.")
    docker_forward_env: tuple[str, ...] = Field((), description="docker: variables of this machine that are set.")
    docker_user: str = Field("auto", description="docker: who commands run as: `auto` (you), `image`, or `UID:GID`.")
    docker_args: tuple[str, ...] = Field((), description="docker: further arguments of `run`.")
    singularity_image: str = Field(
        "docker://debian:stable-slim", description="apptainer: the image of the sessions' instances."
    )
    singularity_program: str = Field("", description="apptainer: the program; empty: apptainer, or else singularity.")
    singularity_args: tuple[str, ...] = Field((), description="apptainer: further arguments of `instance start`.")
    modal_image: str = Field("", description="modal: an image of a registry; empty: the service's own Debian.")
    daytona_image: str = Field("", description="daytona: an image of a registry; empty: the service's own snapshot.")
    vercel_image: str = Field("", description="vercel: an image of its registry; empty: the service's own.")
    container_network: Literal["none", "open"] = Field(
        "none", description="apptainer, modal, daytona, vercel: whether there is a network."
    )
    container_cpu: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="docker, apptainer and the services: processors, at most."
    )
    container_memory: int | None = Field(
        None, ge=16, description="docker, apptainer and the services: megabytes of memory, at most."
    )
    container_lifetime: int = Field(
        3600, ge=60, le=86_400, description="modal, daytona, vercel: seconds after which a sandbox ends in any case."
    )
    container_processes: int | None = Field(1024, ge=16, description="docker: processes, at most.")
    container_persistent: bool = Field(
        False, description="docker: a session's container is kept for when it is opened again."
    )

    @model_validator(mode="before")
    @classmethod
    def _names_of_others(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        ours = {key: part for key, part in value.items() if part is not None}
        for theirs, name in _OTHER_NAMES.items():
            if theirs in ours and name not in ours:
                ours[name] = ours[theirs]
        return ours

    @field_validator("backend", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        name = value.strip().lower() or "local"
        return _OTHER_BACKENDS.get(name, name)

    @field_validator("sync", mode="before")
    @classmethod
    def _sync_word(cls, value: object) -> object:
        # YAML reads off and on as no and yes.
        return {False: "off", True: "both"}[value] if isinstance(value, bool) else value

    @field_validator(
        "env_passthrough",
        "ssh_options",
        "docker_volumes",
        "docker_forward_env",
        "docker_args",
        "singularity_args",
        mode="before",
    )
    @classmethod
    def _listed(cls, value: object) -> object:
        # One name needs no list.
        return (value,) if isinstance(value, str) else () if value is None else value
