"""What a session's shells leave behind: the state between commands, and processes in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, CommandSpec, Interrupt

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Confinement


# What a session's shell keeps from one command to the next: its directory and its exported variables.


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


# The port to a session's background processes, and to what its shell remembers between two commands.


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """How many processes a session has at once, how long ended ones are remembered, and how much they print."""

    max_processes: int = 64
    keep_finished_seconds: float = 1800.0
    kept_chars: int = 200_000


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A background command.

    Attributes:
        env, unset: variables added and taken away, as the session's shell has them.
        pty: run at a pseudo-terminal; otherwise its input is a pipe.
        notify_on_complete: its end is an event.
        watch_patterns: a line that contains one of these texts is an event.
        save_to: the file for output that is longer than what is kept; None for none.
        call_id: the tool call that starts it; the gate fills it in.
        confinement: what it may do; None: whatever the user may.
        outside: the person is asked to let it run without one.
    """

    command: str
    cwd: Path
    env: Mapping[str, str] | None = None
    unset: tuple[str, ...] = ()
    pty: bool = False
    notify_on_complete: bool = False
    watch_patterns: tuple[str, ...] = ()
    save_to: Path | None = None
    call_id: str = ""
    confinement: Confinement | None = None
    outside: bool = False


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A line of the output that contains one of the watched texts. `seconds` after the start."""

    pattern: str
    line: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A background process as it is now.

    Attributes:
        id: its name in the session.
        seconds: how long it runs, or ran.
        exit_code, signal: how it ended; both None while it runs.
        waits_for: the question at which it seems to wait for input, '' otherwise.
        matches: the latest matches of its patterns.
        log: the file with its whole output, where that is longer than what is kept.
        notifies: somebody wants to be told of its end.
    """

    id: str
    command: str
    cwd: Path
    pid: int
    running: bool
    seconds: float
    pty: bool = False
    exit_code: int | None = None
    signal: str | None = None
    waits_for: str = ""
    matches: tuple[PatternMatch, ...] = ()
    log: Path | None = None
    notifies: bool = False


@dataclass(frozen=True, slots=True)
class ProcessView:
    """A process and what it has printed since the last look, as it printed it. `missed`: characters in between that
    are kept no more.
    """

    info: ProcessInfo
    output: str
    missed: int = 0


@dataclass(frozen=True, slots=True)
class ProcessEvent:
    """Something that happened to a process: it began, it ended, or a line matched.

    Attributes:
        kind: `completed` is the end of one whose end somebody wants to know without looking, `ended` of any other.
    """

    kind: Literal["started", "ended", "completed", "matched"]
    info: ProcessInfo
    match: PatternMatch | None = None


class Processes(Protocol):
    """What outlives a session's tool calls: background processes, and the shell's directory and variables.

    Every method that names a process raises `ToolError` where there is none of that name.
    """

    @property
    def memory(self) -> ShellMemory:
        """What the session's shell keeps."""
        ...

    def start(self, spec: ProcessSpec) -> ProcessInfo:
        """Start a command and return at once.

        Raises:
            CommandError: it could not be started, or too many are running. Denied: the policy said no.
        """
        ...

    def list(self) -> Sequence[ProcessInfo]:
        """All that run, and those that ended lately; oldest first."""
        ...

    def poll(self, process_id: str) -> ProcessView:
        """The process, and its output since the last poll or wait."""
        ...

    def log(self, process_id: str) -> ProcessView:
        """The process, and all of its output that is kept; the next poll is not affected."""
        ...

    def wait(self, process_id: str, timeout: float, interrupt: Interrupt) -> ProcessView:
        """As `poll`, once it has ended, waits for input, or `timeout` seconds have passed.

        Raises:
            ToolInterrupted: the turn was cancelled meanwhile.
        """
        ...

    def kill(self, process_id: str) -> ProcessInfo:
        """End it with everything it has started: politely, and soon by force."""
        ...

    def write(self, process_id: str, data: str, *, submit: bool = False) -> ProcessInfo:
        """Type `data`, and press Enter after it when `submit`.

        Raises:
            CommandError: it has ended or does not read. Denied: the policy said no.
        """
        ...

    def end_input(self, process_id: str) -> ProcessInfo:
        """Tell it that no more input comes (Ctrl-D at a terminal)."""
        ...

    def subscribe(self, listener: Callable[[ProcessEvent], None]) -> Callable[[], None]:
        """Call `listener` at each event, on whatever thread; returns a function that ends that.

        The event of a process's end may come before that of its start.
        """
        ...

    def close(self) -> None:
        """End all of them: the session is over."""
        ...
