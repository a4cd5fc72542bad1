"""The port to who runs programs that call tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, Interrupt
from tools.programs.settings import ProgramSettings
from tools.result import ToolResult

CallTool = Callable[[str, Mapping[str, Any], Interrupt], ToolResult]
"""Makes one call of a tool: its name, its arguments, and what ends it. Raises ToolInterrupted when that has come."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run.

    Attributes:
        code: Python.
        cwd: the session's directory.
        module: the text of the functions by which it calls tools (`tools.programs.stubs`).
        limits: its time, calls and messages.
        variables: what the session's shell has exported; None for one that a fresh shell has and this one has not.
        save_to: the file for output that is too long to keep or to show, None for none.
    """

    code: str
    cwd: Path
    module: str
    limits: ProgramSettings
    variables: Mapping[str, str | None]
    save_to: Path | None = None


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How a program ended, as a command, and how many calls it has made of which tool."""

    command: CommandOutcome
    calls: Mapping[str, int]


class Programs(Protocol):
    """Where programs run."""

    def run(
        self, program: Program, call: CallTool, on_output: Callable[[str], None], interrupt: Interrupt
    ) -> ProgramOutcome:
        """Run to the end, the time-out or the cancel; nothing that the program has started is left then.

        Args:
            call: makes its calls; used from several threads.
            on_output: sees its output as it comes.

        Raises:
            CommandError: it could not be started. Denied, ToolInterrupted: it may not run.
        """
        ...
