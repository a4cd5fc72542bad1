"""What a user can set about tools: parts of `config.yaml`. Keys that other programs share are read leniently."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


class ToolPart(BaseModel):
    """A part of the settings: immutable; what it does not know is reported elsewhere, not refused."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


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
    network: Literal["off", "proxy", "on"] = Field(
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

    @field_validator("network", mode="before")
    @classmethod
    def _as_word(cls, value: object) -> object:
        # YAML reads a bare `on` or `off` as true or false.
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value
