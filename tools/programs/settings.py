"""What programs that call tools work under."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass

MIB = 1024 * 1024

ProgramMode = Literal["project", "strict"]
"""`project`: the project's interpreter, in the session's directory; `strict`: the system's, in an empty directory."""


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """`execute_code`: seconds that a program may take, calls that it may make, bytes of one call or its answer."""

    mode: ProgramMode = "project"
    timeout: float = 300.0
    max_calls: int = 50
    max_message_bytes: int = 8 * MIB
