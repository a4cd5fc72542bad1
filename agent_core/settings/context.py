"""What a user can set about the model's window: the part `compression` of `config.yaml`, which upstream has too."""

from __future__ import annotations

from pydantic import Field, field_validator

from agent_core.settings.tools import ToolPart

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
        return (
            (value.strip() or DEFAULT_ENGINE)
            if isinstance(value, str)
            else DEFAULT_ENGINE
            if value is None
            else value
        )
