"""What a session's shell keeps from one command to the next: its directory and its exported variables."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, CommandSpec


@dataclass(frozen=True, slots=True)
class ShellState:
    """Where a shell is, and how its exported variables differ from those of a fresh one.

    Attributes:
        cwd: absolute, under the name by which the shell got there.
        variables: name → value; None for one that a fresh shell has and this one has not.
    """

    cwd: Path
    variables: Mapping[str, str | None] = field(default_factory=dict)

    def added(self) -> dict[str, str]:
        """The variables to set."""
        return {name: value for name, value in self.variables.items() if value is not None}

    def removed(self) -> tuple[str, ...]:
        """The variables to take away."""
        return tuple(name for name, value in self.variables.items() if value is None)


class ShellMemory:
    """One session's shell state, in memory only; safe to use from several threads.

    Args:
        cwd: the session's directory, where its first command starts.
    """

    def __init__(self, cwd: Path) -> None:
        self._fresh = ShellState(cwd)
        self._state = self._fresh
        self._lock = threading.Lock()

    def state(self) -> ShellState:
        """What the next command starts with."""
        with self._lock:
            return self._state

    def keep(self, state: ShellState) -> None:
        """Take over what a command left."""
        with self._lock:
            self._state = state

    def go_home(self) -> None:
        """Start in the session's directory again; the variables stay."""
        with self._lock:
            self._state = ShellState(self._fresh.cwd, self._state.variables)

    def reset(self) -> None:
        """Forget everything: the next command gets a fresh shell."""
        with self._lock:
            self._state = self._fresh


@dataclass(frozen=True, slots=True)
class ShellCommand(CommandSpec):
    """A command that is told what earlier ones left, and tells what it leaves.

    An environment that knows nothing of this runs it as a plain `CommandSpec`, whose `cwd` and `env` hold what was
    kept, and answers with a plain `CommandOutcome`: then nothing more is kept.

    Attributes:
        unset: variables that a fresh shell has and this one gets not.
        pty: run at a pseudo-terminal.
    """

    unset: tuple[str, ...] = ()
    pty: bool = False


@dataclass(frozen=True, slots=True)
class ShellOutcome(CommandOutcome):
    """How a `ShellCommand` ended.

    Attributes:
        left: the shell's state at its end; None when it was killed, replaced by another program, or said nothing.
        not_kept: exported variables that are left out of it, because they make other programs run code.
        waits_for: the question or screen at which it waited for input and was ended; '' when it did not.
        pipe_statuses: of the parts of its last pipeline; empty where they are not known, or it had one part.
    """

    left: ShellState | None = None
    not_kept: tuple[str, ...] = ()
    waits_for: str = ""
    pipe_statuses: tuple[int, ...] = ()


def taken_away(spec: CommandSpec) -> tuple[str, ...]:
    """The variables of a fresh shell that the command does not get."""
    return spec.unset if isinstance(spec, ShellCommand) else ()


def without_kept(spec: CommandSpec) -> CommandSpec:
    """The command with the variables of a fresh shell."""
    return replace(spec, env=None, unset=()) if isinstance(spec, ShellCommand) else spec


def without_path(spec: CommandSpec) -> CommandSpec:
    """The command with the PATH of a fresh shell, and all else that was kept."""
    return replace(spec, env=no_path(spec.env)) if isinstance(spec, ShellCommand) else spec


def no_path(env: Mapping[str, str] | None) -> dict[str, str]:
    """Variables to set, without PATH."""
    return {name: value for name, value in (env or {}).items() if name != "PATH"}


def with_path_of(spec: CommandSpec, outcome: CommandOutcome) -> CommandOutcome:
    """The outcome of `without_path(spec)`; the shell has the PATH that it had again, unless that has set another."""
    path = (spec.env or {}).get("PATH")
    if path is None or not isinstance(outcome, ShellOutcome) or outcome.left is None:
        return outcome
    variables = {"PATH": path, **outcome.left.variables}
    return replace(outcome, left=ShellState(outcome.left.cwd, variables))


def forgetful(outcome: CommandOutcome) -> CommandOutcome:
    """The outcome of a command after which the session's shell is as it was before."""
    return replace(outcome, left=None, not_kept=()) if isinstance(outcome, ShellOutcome) else outcome
