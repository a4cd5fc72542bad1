"""What a user can set about tools: parts of `config.yaml`. Keys that other programs share are read leniently."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator


class ToolPart(BaseModel):
    """A part of the settings: immutable; what it does not know is reported elsewhere, not refused."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)


class TerminalPart(ToolPart):
    """How commands run."""

    timeout: float = Field(
        180.0, gt=0, le=600, allow_inf_nan=False, description="Seconds a command may take where none are asked for."
    )


class WebPart(ToolPart):
    """How the web is reached."""

    search_backend: str = Field("", description="brave, tavily, exa, searxng or ddgs; empty: the first set up.")
    allow_private: bool = Field(False, description="Ask about private addresses as about public ones.")
    timeout: float = Field(30.0, gt=0, le=600, allow_inf_nan=False, description="Seconds one page may take.")

    @field_validator("search_backend", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else "" if value is None else value


class LspPart(ToolPart):
    """Language servers, which are asked what an edit broke."""

    enabled: bool = Field(False, description="Ask them. They run parts of the workspace's code.")
    wait: float = Field(3.0, gt=0, le=60, allow_inf_nan=False, description="Seconds an edit waits for them, at most.")
    servers: dict[str, Any] = Field(default_factory=dict, description="Commands by language or suffix.")
