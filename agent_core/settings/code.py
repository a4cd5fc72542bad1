"""What a user can set about programs that call tools: the part `code_execution` of `config.yaml`."""

from __future__ import annotations

from pydantic import Field

from agent_core.settings.tools import ToolPart
from tools.settings import ProgramMode, ProgramSettings


class CodePart(ToolPart):
    """Programs that call tools (`execute_code`)."""

    mode: ProgramMode = Field(
        "project",
        description="`project`: the project's Python, in its directory; `strict`: the system's, in an empty one.",
    )
    timeout: float = Field(
        300.0,
        gt=0,
        le=3600,
        allow_inf_nan=False,
        description="Seconds a program may take, the time in which you are asked not counted.",
    )
    max_tool_calls: int = Field(50, ge=1, le=1000, description="Calls of tools that one program may make.")

    def as_programs(self) -> ProgramSettings:
        """The same, in the form that tools read."""
        return ProgramSettings(mode=self.mode, timeout=self.timeout, max_calls=self.max_tool_calls)
