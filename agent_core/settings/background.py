"""What a user can set about work in the background: the part `background` of `config.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from agent_core.settings.tools import ToolPart

OwnTurns = Literal["auto", "always", "ask", "never"]


class BackgroundPart(ToolPart):
    """What happens when something ends while no turn runs."""

    turns: OwnTurns = Field(
        "auto",
        description="When a turn of its own begins; `auto`: where the editor says that it shows such turns.",
    )
    max_turns: int = Field(
        8, ge=1, le=100, description="How many of those may follow each other before you say something."
    )

    @field_validator("turns", mode="before")
    @classmethod
    def _yaml_words(cls, value: object) -> object:
        # YAML reads bare words like `off` and `on` so.
        return {False: "never", True: "always"}.get(value, value) if isinstance(value, bool) else value
