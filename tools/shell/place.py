"""Where one command runs, with which variables, and what the session remembers of it afterwards."""

from __future__ import annotations

from pathlib import Path

from tools.context import CommandOutcome, ToolContext
from tools.errors import Denied, ToolError
from tools.light_dataclass import dataclass
from tools.shell.memory import ShellMemory, ShellOutcome, ShellState


@dataclass(frozen=True, slots=True)
class ShellPlace:
    """The shell's state at a command's start.

    Attributes:
        cwd: where the command runs.
        state: what the session's shell keeps; its directory is not `cwd` when the call names one of its own.
        home: the session's directory.
        note: what the model should know, '' for nothing.
    """

    cwd: Path
    state: ShellState
    home: Path
    memory: ShellMemory | None = None
    note: str = ""

    def remember(self, outcome: CommandOutcome) -> None:
        """Keep what the command has left, where it tells."""
        if self.memory is None or not isinstance(outcome, ShellOutcome) or outcome.left is None:
            return
        # The directory of a call that names its own is for that call only.
        stays = self.cwd != self.state.cwd
        self.memory.keep(ShellState(self.state.cwd if stays else outcome.left.cwd, outcome.left.variables))

    def moved_to(self) -> str:
        """The directory in which the next command starts, '' where it is the session's."""
        now = self.memory.state().cwd if self.memory is not None else self.home
        return "" if now == self.home else str(now)


def find_place(workdir: object, ctx: ToolContext) -> ShellPlace:
    """Where a command runs that names `workdir`, or None.

    Raises:
        ToolError: it is no directory. Denied: it may not be looked at.
    """
    memory = ctx.processes.memory if ctx.processes is not None else None
    state = memory.state() if memory is not None else ShellState(ctx.cwd)
    if workdir is not None and workdir != "":
        return ShellPlace(_named(workdir, ctx), state, ctx.cwd, memory)
    if memory is None or state.cwd == ctx.cwd or _may_be_used(state.cwd, memory, ctx):
        return ShellPlace(state.cwd, state, ctx.cwd, memory)
    memory.go_home()
    note = f"{state.cwd}, where the shell was, is gone: this ran in {ctx.cwd}."
    return ShellPlace(ctx.cwd, memory.state(), ctx.cwd, memory, note)


def _named(workdir: object, ctx: ToolContext) -> Path:
    if not isinstance(workdir, str):
        raise ToolError("terminal: `workdir` must be a path.")
    path = ctx.resolve(workdir)
    facts = ctx.fs.stat(path)
    if facts is None or facts.kind != "directory":
        raise ToolError(f"terminal: `workdir` {path} is not a directory. Nothing was run.")
    return path


def _may_be_used(cwd: Path, memory: ShellMemory, ctx: ToolContext) -> bool:
    """Whether the shell's directory is still there. One outside of the session's asks, as a `workdir` does."""
    try:
        facts = ctx.fs.stat(cwd)
    except Denied as no:
        memory.go_home()
        nothing_run = f"Nothing was run in {cwd}; the next command starts in {ctx.cwd} again."
        raise Denied(f"{no} {nothing_run}", no.shown and f"{no.shown} {nothing_run}") from no
    return facts is not None and facts.kind == "directory"
