"""What a user can set about memory: the part `memory` of `config.yaml`, with the names that other programs use."""

from __future__ import annotations

from pydantic import Field, field_validator

from agent_core.memory.store import MemoryLimits
from agent_core.settings.tools import ToolPart


class MemoryPart(ToolPart):
    """What is remembered over sessions."""

    memory_enabled: bool = Field(True, description="Keep notes in `memories/MEMORY.md`.")
    user_profile_enabled: bool = Field(True, description="Keep what is known of you in `memories/USER.md`.")
    memory_char_limit: int = Field(2_200, ge=100, le=50_000, description="Characters of all notes together.")
    user_char_limit: int = Field(1_375, ge=100, le=50_000, description="Likewise, of what is known of you.")
    provider: str = Field("", description="A memory provider that a plugin in the home brings; empty: none.")
    recall_timeout: float = Field(
        1.0,
        ge=0,
        le=60,
        allow_inf_nan=False,
        description="Seconds a prompt waits for what the provider recalls; later, it comes with the next prompt.",
    )

    @field_validator("provider", mode="before")
    @classmethod
    def _plain(cls, value: object) -> object:
        return value.strip() if isinstance(value, str) else "" if value is None else value

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
