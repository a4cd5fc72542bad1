"""What is set about the system prompt."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from agent_core.prompt.context_files.settings import ContextFileSettings
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """The settings of one session's prompt.

    Attributes:
        home: where `SOUL.md` may be; None for nowhere.
        ephemeral: goes behind the prompt in each request, and is stored nowhere; '' for nothing.
    """

    home: Path | None = None
    context_files: ContextFileSettings = field(default_factory=ContextFileSettings)
    ephemeral: str = ""

    def with_ephemeral(self, system: str) -> str:
        """The system text of a request."""
        return f"{system}\n\n{self.ephemeral}" if self.ephemeral else system
