"""What a user can set about sub-agents: the part `delegation` of `config.yaml`, which upstream has too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from agent_core.settings.tools import ToolPart

_OTHER_NAMES = {
    "child_timeout_seconds": "timeout",
    "default_toolsets": "toolsets",
    "max_async_children": "max_background_children",
}
"""What upstream calls values, and we."""


class DelegationPart(ToolPart):
    """How much sub-agents may do."""

    understood: ClassVar[frozenset[str]] = frozenset({*_OTHER_NAMES, "provider"})

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
        ours = {key: part for key, part in value.items() if part is not None}
        for theirs, name in _OTHER_NAMES.items():
            if theirs in ours and name not in ours:
                ours[name] = ours[theirs]
        model, provider = str(ours.get("model") or "").strip(), str(ours.pop("provider", None) or "").strip()
        if model and provider and not model.startswith(f"{provider}:"):
            ours["model"] = f"{provider}:{model}"
        if not ours.get("reasoning_effort"):
            ours.pop("reasoning_effort", None)
        return ours
