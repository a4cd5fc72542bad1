"""What a user can set about traces: the part `telemetry` of `config.yaml`."""

from __future__ import annotations

from pydantic import Field, field_validator

from agent_core.settings.tools import ToolPart


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
