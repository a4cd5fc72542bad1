"""What a user can set about skills: the part `skills` of `config.yaml`, which other programs share."""

from __future__ import annotations

from pydantic import Field

from agent_core.settings.tools import ToolPart


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
