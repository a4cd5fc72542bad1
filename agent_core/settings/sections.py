"""The small sections of `config.yaml`, a class each. Keys that other programs share are read leniently."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from agent_core.memory.store import MemoryLimits
from tools.settings import ProgramMode, ProgramSettings

# Which files hold rules for agents, and where they are looked for: the defaults of `context_files`.

HERMES = ".hermes.md"
AGENTS = "AGENTS.md"
CLAUDE = "CLAUDE.md"
CURSOR = ".cursorrules"
COPILOT = ".github/copilot-instructions.md"

DEFAULT_NAMES = (HERMES, AGENTS, CLAUDE, CURSOR, COPILOT)
"""In this order: the first that a directory has counts. `.cursorrules` stands for `.cursor/rules` too."""


def present(directory: Path, name: str) -> Path | None:
    """The file of that name, as it is really written: capitals do not count; None where nothing is."""
    for variant in variants(name):
        if os.path.lexists(path := directory / variant):
            return path
    return None


def chain(top: Path, directory: Path) -> list[Path]:
    """The directories from `top` down to `directory`, both with them; only the latter where it is not below."""
    if not directory.is_relative_to(top):
        return [directory]
    return [top, *(top.joinpath(*directory.relative_to(top).parts[: count + 1])
                   for count in range(len(directory.relative_to(top).parts)))]  # fmt: skip


def variants(name: str) -> tuple[str, ...]:
    """How the name may be written, the best first."""
    if name == HERMES:
        return (HERMES, "HERMES.md", "hermes.md", ".HERMES.md")
    stem, dot, ending = name.rpartition(".")
    if name.startswith(".") or not dot:
        return (name,)
    return tuple(dict.fromkeys((name, name.lower(), f"{stem.capitalize()}.{ending}", name.upper())))


# What every section is.


class ToolPart(BaseModel):
    """A part of the settings: immutable; what it does not know is reported elsewhere, not refused."""

    # Inputs may be keys, and errors end up in logs.
    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class SettingsPart(ToolPart):
    """A part that no other program writes to: every key is reported that it does not know."""


def renamed(written: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """A part as it was written with our names for upstream's, and without the keys that it has no value for."""
    ours = {key: value for key, value in written.items() if value is not None}
    for theirs, name in names.items():
        if theirs in ours and name not in ours:
            ours[name] = ours[theirs]
    return ours


def bare_words(no: str, yes: str) -> BeforeValidator:
    """YAML reads words like a bare `off` and `on` as false and true: the ones that were meant."""
    return BeforeValidator(lambda value: (yes if value else no) if isinstance(value, bool) else value)


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else "" if value is None else value


# Tools.


class WebPart(ToolPart):
    """How the web is reached."""

    search_backend: str = Field(
        "",
        description="`brave`, `tavily`, `exa`, `searxng`, or `ddgs` (no key); empty: the first that is set up.",
    )
    allow_private: bool = Field(
        False,
        description=(
            "Ask about addresses of this machine and of private networks as about any other; "
            "otherwise they are asked about as risky, and refused where nobody is asked."
        ),
    )
    timeout: float = Field(30.0, gt=0, le=600, allow_inf_nan=False, description="Seconds one page may take.")

    @field_validator("search_backend", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else "" if value is None else value


class SecurityPart(ToolPart):
    """What is kept from models."""

    redact_tool_results: bool = Field(False, description="Take secrets out of tool results, but not out of files.")


class LspPart(ToolPart):
    """Language servers, which are asked what an edit broke."""

    enabled: bool = Field(False, description="Ask them. They run parts of the workspace's code without a question.")
    wait: float = Field(3.0, gt=0, le=60, allow_inf_nan=False, description="Seconds an edit waits for them, at most.")
    servers: dict[str, Any] = Field(
        default_factory=dict,
        description=(
            "By language (`python`, `go`, `rust`, `typescript`, `c`) or suffix (`.vue`) the command of its server; "
            "empty: the first that is installed; an empty command: none."
        ),
    )


class SandboxPart(ToolPart):
    """What commands may do that nobody was asked about."""

    level: Literal["read-only", "workspace-write", "full"] = Field(
        "workspace-write", description="Change nothing; change the session's directories; no sandbox at all."
    )
    network: Annotated[Literal["off", "proxy", "on"], bare_words("off", "on")] = Field(
        "proxy", description="`proxy`: allowed hosts, others are asked about; `on`: every host."
    )
    registries: bool = Field(True, description="Package registries count as allowed hosts.")
    allow_hosts: tuple[str, ...] = Field(
        (), description="`HOST`, `*.DOMAIN` or `HOST:PORT` that commands reach without a question."
    )
    deny_hosts: tuple[str, ...] = Field((), description="The same, never reached; goes before all else.")
    caches: bool = Field(True, description="Commands may write to the caches of package managers and compilers.")
    writable: tuple[str, ...] = Field((), description="More directories in which commands may change files.")
    cpu_seconds: int | None = Field(None, ge=1, description="Seconds of the processor for each process.")
    memory_mb: int | None = Field(None, ge=16, description="Megabytes of memory for each process.")
    processes: int | None = Field(None, ge=1, description="Processes that a command may start (not for root).")
    file_size_mb: int | None = Field(None, ge=1, description="Megabytes that one file may grow to.")


# `background`: work behind the turns.

OwnTurns = Literal["auto", "always", "ask", "never"]


class BackgroundPart(ToolPart):
    """What happens when something ends while no turn runs."""

    turns: Annotated[OwnTurns, bare_words("never", "always")] = Field(
        "auto",
        description="When a turn of its own begins; `auto`: where the editor says that it shows such turns.",
    )
    max_turns: int = Field(
        8, ge=1, le=100, description="How many of those may follow each other before you say something."
    )


# `code_execution`: programs that call tools.


class CodePart(ToolPart):
    """Programs that call tools (`execute_code`)."""

    mode: ProgramMode = Field(
        "project",
        description="`project`: the project's Python, in its directory; `strict`: the system's, in an empty one.",
    )
    timeout: float = Field(
        300.0,
        gt=0,
        le=3600,
        allow_inf_nan=False,
        description="Seconds a program may take, the time in which you are asked not counted.",
    )
    max_tool_calls: int = Field(50, ge=1, le=1000, description="Calls of tools that one program may make.")

    def as_programs(self) -> ProgramSettings:
        """The same, in the form that tools read."""
        return ProgramSettings(mode=self.mode, timeout=self.timeout, max_calls=self.max_tool_calls)


# `compression`: the model's window. Upstream has it too.

DEFAULT_ENGINE = "compressor"


class CompressionPart(ToolPart):
    """When a conversation is compressed, and what of it stays as it is."""

    enabled: bool = Field(True, description="Compress by itself; without it only `/compact` does.")
    threshold: float = Field(
        0.75,
        ge=0.1,
        le=0.95,
        allow_inf_nan=False,
        description="The share of the model's window at which it is time to.",
    )
    target_ratio: float = Field(
        0.2,
        ge=0.05,
        le=0.8,
        allow_inf_nan=False,
        description="Of that, the share that the newest part of the conversation may keep.",
    )
    protect_first_n: int = Field(
        1,
        ge=0,
        le=100,
        description=(
            "Messages at the beginning that stay as they are, from a session's first compression on: "
            "a later change counts for other sessions, since these begin what the server has cached."
        ),
    )
    protect_last_n: int = Field(
        6, ge=0, le=500, description="Messages at the end that stay as they are, where they fit."
    )
    engine: str = Field(DEFAULT_ENGINE, description="Who compresses; plugins may bring others.")

    @field_validator("engine", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        name = _stripped(value)
        return DEFAULT_ENGINE if name == "" else name


# `delegation`: sub-agents. Upstream has it too.

_DELEGATION_NAMES = {
    "child_timeout_seconds": "timeout",
    "default_toolsets": "toolsets",
    "max_async_children": "max_background_children",
}
"""What upstream calls values, and we."""


class DelegationPart(ToolPart):
    """How much sub-agents may do."""

    understood: ClassVar[frozenset[str]] = frozenset({*_DELEGATION_NAMES, "provider"})

    model: str = Field(
        "",
        description=(
            "The model of sub-agents, as `provider:model`; empty: that of the session "
            "(`delegation.provider` beside a name is understood too)."
        ),
    )
    models: tuple[str, ...] = Field(
        (), description="Models that the agent may choose for a task, as `provider:model`."
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = Field(
        None, description="How much they think; empty: as the session's model."
    )
    toolsets: tuple[str, ...] = Field(
        (), description="Toolsets that they have where a task names none; empty: all (also `default_toolsets`)."
    )
    max_iterations: int = Field(50, ge=1, le=1_000, description="Model requests of one sub-agent, at most.")
    max_concurrent_children: int = Field(
        3, ge=1, le=32, description="Sub-agents that work at the same time, for each agent that delegates."
    )
    max_background_children: int = Field(
        3, ge=0, le=32, description="The same, in the background; 0: none may (also `max_async_children`)."
    )
    max_spawn_depth: int = Field(
        1,
        ge=0,
        le=4,
        description="Levels of sub-agents; 1: they have none of their own, 0: there are none.",
    )
    orchestrator_enabled: bool = Field(True, description="Whether there may be orchestrators at all.")
    timeout: float = Field(
        0.0,
        ge=0,
        le=7 * 24 * 3600,
        allow_inf_nan=False,
        description="Seconds for one sub-agent; 0: no limit (also `child_timeout_seconds`).",
    )
    idle_seconds: float = Field(
        600.0,
        gt=0,
        le=24 * 3600,
        allow_inf_nan=False,
        description="Seconds without a sign of its model, then it is ended.",
    )
    tool_seconds: float = Field(
        1800.0, gt=0, le=24 * 3600, allow_inf_nan=False, description="The same, while it runs a tool."
    )

    @model_validator(mode="before")
    @classmethod
    def _as_upstream(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        ours = renamed(value, _DELEGATION_NAMES)
        model, provider = str(ours.get("model") or "").strip(), str(ours.pop("provider", None) or "").strip()
        if model and provider and not model.startswith(f"{provider}:"):
            ours["model"] = f"{provider}:{model}"
        if not ours.get("reasoning_effort"):
            ours.pop("reasoning_effort", None)
        return ours


# `terminal`: commands, and the machine that sessions work on.

# Upstream's names for what is called otherwise here.
_TERMINAL_NAMES = {"env_type": "backend", "docker_mount_cwd_to_workspace": "docker_mount"}
_OTHER_BACKENDS = {
    "native": "local",
    "host": "local",
    "podman": "docker",
    "singularity": "apptainer",
    "vercel_sandbox": "vercel",
}


class TerminalPart(ToolPart):
    """How and where commands run."""

    understood: ClassVar[frozenset[str]] = frozenset(_TERMINAL_NAMES)

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
        "auto", description="Has no effect any more: files there are read and written by its shell."
    )
    sync: Annotated[Literal["off", "in", "both"], bare_words("off", "both")] = Field(
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
        return renamed(value, _TERMINAL_NAMES) if isinstance(value, Mapping) else value

    @field_validator("backend", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        name = value.strip().lower() or "local"
        return _OTHER_BACKENDS.get(name, name)

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


# `tool_loop_guardrails`: models that go round in circles.


class LoopCounts(SettingsPart):
    """From which count on something is done about a model that goes round in circles."""

    exact_failure: int | None = Field(
        None, ge=0, description="Failures of the same call; 0: never, empty: as in the table above."
    )
    same_tool_failure: int | None = Field(None, ge=0, description="Failures of a tool in a row, likewise.")
    idempotent_no_progress: int | None = Field(
        None, ge=0, description="Equal results of a call that only reads, likewise."
    )


class GuardrailSettings(SettingsPart):
    """What is done about a model that goes round in circles.

    The counts' defaults are in `agent_core.guardrails`.
    """

    warnings_enabled: bool = Field(True, description="Tell the model.")
    hard_stop_enabled: bool = Field(True, description="Do not run its call any more, and in the end stop the turn.")
    warn_after: LoopCounts = Field(default_factory=LoopCounts)
    block_after: LoopCounts = Field(default_factory=LoopCounts)
    hard_stop_after: LoopCounts = Field(default_factory=LoopCounts)


# `memory`, with the names that other programs use.


class MemoryPart(ToolPart):
    """What is remembered over sessions."""

    memory_enabled: bool = Field(True, description="Keep notes in `memories/MEMORY.md`.")
    user_profile_enabled: bool = Field(True, description="Keep what is known of you in `memories/USER.md`.")
    memory_char_limit: int = Field(2_200, ge=100, le=50_000, description="Characters of all notes together.")
    user_char_limit: int = Field(1_375, ge=100, le=50_000, description="Likewise, of what is known of you.")
    provider: Annotated[str, BeforeValidator(_stripped)] = Field(
        "", description="A memory provider that a plugin in the home brings; empty: none."
    )
    recall_timeout: float = Field(
        1.0,
        ge=0,
        le=60,
        allow_inf_nan=False,
        description="Seconds a prompt waits for what the provider recalls; later, it comes with the next prompt.",
    )

    @property
    def limits(self) -> MemoryLimits:
        """The limits of the files that are switched on."""
        return MemoryLimits(
            self.memory_char_limit if self.memory_enabled else None,
            self.user_char_limit if self.user_profile_enabled else None,
        )

    @property
    def has_files(self) -> bool:
        """Whether anything is remembered in files."""
        return self.memory_enabled or self.user_profile_enabled


# The system prompt.


class ContextFilesPart(ToolPart):
    """Rules files, which tell the model how to work in a project."""

    enabled: bool = Field(True, description="Tell the model what they say.")
    max_chars: int | None = Field(
        None, ge=1_000, description="Characters of one file, at most; empty: by the model's window."
    )
    names: tuple[str, ...] = Field(
        DEFAULT_NAMES, description="Which files are looked for; of a directory the first counts."
    )

    @field_validator("names")
    @classmethod
    def _inside(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            path = PurePosixPath(name)
            if not path.parts or path.is_absolute() or ".." in path.parts or not name.isprintable():
                raise ValueError("each must be the name of a file in the directory, as AGENTS.md")
        return names


# `skills`, which other programs share.


class SkillPart(ToolPart):
    """Folders with instructions for kinds of work."""

    enabled: bool = Field(True, description="Use skills: in the prompt, as tools and as commands.")
    disabled: tuple[str, ...] = Field((), description="Names of skills that are not used.")
    external_dirs: tuple[str, ...] = Field(
        (), description="More folders with skills of your own; `~` and variables are understood."
    )
    index_chars: int = Field(
        2_000, ge=0, le=20_000, description="Characters of the list in the system prompt, at most."
    )


# `telemetry`: traces.


class TelemetryPart(ToolPart):
    """Who is told how long turns, model requests and tool calls take. No text of a conversation is told."""

    enabled: bool = Field(False, description="Send OpenTelemetry spans to a collector (needs the extra `otel`).")
    endpoint: str | None = Field(
        None,
        description="The collector's address, as `http://127.0.0.1:4318`; empty: OpenTelemetry's variables count.",
    )

    @field_validator("endpoint")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("it must begin with http:// or https://")
        return value
