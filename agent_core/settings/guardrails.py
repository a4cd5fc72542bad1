"""What a user can set about models that go round in circles: the part `tool_loop_guardrails` of `config.yaml`."""

from __future__ import annotations

from pydantic import Field

from agent_core.settings.part import SettingsPart


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
