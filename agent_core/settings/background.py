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
        description="Go on by itself: auto: where the editor says that it shows that; always; ask; never.",
    )
    max_turns: int = Field(8, ge=1, le=100, description="Turns of its own in a row, at most.")

    @field_validator("turns", mode="before")
    @classmethod
    def _yaml_words(cls, value: object) -> object:
        # YAML reads bare words like `off` and `on` so.
        return {False: "never", True: "always"}.get(value, value) if isinstance(value, bool) else value
