"""Where one command runs, with which variables, and what the session remembers of it afterwards."""

from __future__ import annotations

import os
from pathlib import Path

from tools.context import ToolContext
from tools.errors import Denied, ToolError
from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome
from tools.shell.memory import ShellMemory, ShellOutcome, ShellState


@dataclass(frozen=True, slots=True)
class ShellPlace:
    """The shell's state at a command's start.

    Attributes:
        cwd: where the command runs.
        state: what the session's shell keeps; its directory is not `cwd` when the call names one of its own.
        home: the session's directory.
        roots: the session's directories; the shell stays in none but these.
        is_here: they are on this machine, where links can be followed.
        note: what the model should know, '' for nothing.
    """

    cwd: Path
    state: ShellState
    home: Path
    memory: ShellMemory | None = None
    note: str = ""
    roots: tuple[Path, ...] = ()
    is_here: bool = True

    def remember(self, outcome: CommandOutcome) -> str:
        """Keep what the command has left, where it tells.

        Returns:
            what the model should know of the directory that it has left behind, '' for nothing.
        """
        if self.memory is None or not isinstance(outcome, ShellOutcome) or outcome.left is None:
            return ""
        left = outcome.left.cwd
        # The directory of a call that names its own is for that call only.
        stays = self.cwd != self.state.cwd
        is_outside = not stays and left != self.state.cwd and not self._is_inside(left)
        kept = self.state.cwd if stays or is_outside else left
        self.memory.keep(ShellState(kept, outcome.left.variables))
        if not is_outside:
            return ""
        return (
            f"{left} is outside the session's directories, so it was left again: the next command runs in {kept}. "
            "Use workdir for a command elsewhere."
        )

    def _is_inside(self, path: Path) -> bool:
        paths = {Path(os.path.normpath(path))}
        roots = set(self.roots)
        if self.is_here:
            paths = {Path(os.path.realpath(path))}
            roots |= {Path(os.path.realpath(root)) for root in self.roots}
        return any(each == root or root in each.parents for each in paths for root in roots)

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
        return _place(_named(workdir, ctx), state, memory, ctx)
    if memory is None or state.cwd == ctx.cwd or _may_be_used(state.cwd, memory, ctx):
        return _place(state.cwd, state, memory, ctx)
    memory.go_home()
    note = f"{state.cwd}, where the shell was, is gone: this ran in {ctx.cwd}."
    return _place(ctx.cwd, memory.state(), memory, ctx, note)


def _place(cwd: Path, state: ShellState, memory: ShellMemory | None, ctx: ToolContext, note: str = "") -> ShellPlace:
    return ShellPlace(cwd, state, ctx.cwd, memory, note, ctx.roots, is_here=not ctx.elsewhere)


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
