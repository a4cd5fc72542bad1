"""Commands and background processes on this machine. No policy here: `gated_commands` stands in front."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tools.environments.background_process import BackgroundProcess
from tools.environments.child_env import child_environment, terminal_environment
from tools.environments.command_watch import QUIET_SECONDS, run_to_end
from tools.environments.guardian import Guardian, SessionGroups
from tools.environments.sandbox.denial import looks_denied
from tools.environments.sandbox.port import Confinement, Sandbox
from tools.environments.shell_start import Input, ShellStarter, StartedShell, read_report
from tools.errors import CommandError, ToolError
from tools.ports import CommandOutcome, CommandSpec, Interrupt
from tools.settings import TerminalSettings
from tools.shell.session import (
    ProcessEvent,
    ProcessInfo,
    ProcessLimits,
    ProcessSpec,
    ProcessView,
    ShellCommand,
    ShellMemory,
)


class LocalEnvironment:
    """Implements `tools.ports.Environment` with a new shell for each command; safe to use from several threads.

    A `ShellCommand` is started with the variables that it brings, and tells what its shell leaves. `open` starts a
    command that somebody else watches; it counts as one of the environment's.

    Args:
        guardian: the process's one.
        settings: how much output is kept.
        variables: what the commands' environment is made from; the process's own variables when None.
        quiet_seconds: how long a command may be silent after a question before it is ended.
        sandbox: starts the commands that are confined; without one they are not started at all. It stays its maker's.
        shell: the program that reads them, as `ShellStarter` takes it.
    """

    def __init__(
        self,
        guardian: Guardian,
        settings: TerminalSettings | None = None,
        variables: Mapping[str, str] | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        sandbox: Sandbox | None = None,
        *,
        shell: str | None = None,
    ) -> None:
        self._groups = SessionGroups(guardian)
        self._starter = ShellStarter(self._groups, shell, sandbox)
        self._sandbox = sandbox
        self._settings = settings or TerminalSettings()
        self._variables = variables
        self._quiet_seconds = quiet_seconds

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run to the end, the time-out, the cancel, or a question that nobody answers.

        The call ends with the shell: what the command left in the background stays alive until `close`.

        Raises:
            CommandError: it could not be started.
        """
        if interrupt.is_set():
            return CommandOutcome("", None, interrupted=True)
        pty = isinstance(spec, ShellCommand) and spec.pty
        fresh, given = self._environments(spec, pty=pty)
        reads: Input = "terminal" if pty else "nothing"

        def start() -> StartedShell:
            return self._starter.start(
                spec.command,
                spec.cwd,
                given,
                reads=reads,
                reports=isinstance(spec, ShellCommand),
                confinement=spec.confinement,
            )

        outcome, started = run_to_end(
            start,
            spec,
            on_output,
            interrupt,
            settings=self._settings,
            quiet_seconds=self._quiet_seconds,
            closed=self.closed,
            left_by=lambda report: read_report(report, fresh, given),
        )
        return self.with_refusals(outcome, spec, started)

    def open(self, spec: CommandSpec, *, unset: tuple[str, ...] = (), pty: bool = False) -> StartedShell:
        """Start a command with an input, for somebody who watches it and then calls `closed`.

        Raises:
            CommandError: it could not be started.
        """
        _, variables = self._environments(spec, pty=pty, unset=unset)
        reads: Input = "terminal" if pty else "pipe"
        return self._starter.start(spec.command, spec.cwd, variables, reads=reads, confinement=spec.confinement)

    def open_with(self, spec: CommandSpec, descriptor: int) -> StartedShell:
        """As `open`, without an input; the command has `descriptor` as well, under the same number.

        What it leaves behind can be ended with `end_left`.

        Raises:
            CommandError: it could not be started.
        """
        _, variables = self._environments(spec, pty=False)
        return self._starter.start(
            spec.command,
            spec.cwd,
            variables,
            reads="nothing",
            confinement=spec.confinement,
            passing=(descriptor,),
        )

    @property
    def mark(self) -> str:
        """By which the processes of the session's commands are known (`tools.environments.guardian`)."""
        return self._groups.mark

    def fresh_variables(self) -> Mapping[str, str]:
        """The variables that a fresh shell has, before any confinement adds its own."""
        base = os.environ if self._variables is None else self._variables
        return child_environment(base, passed=self._settings.passthrough)

    def closed(self, started: StartedShell) -> None:
        """Nobody watches the command any more: close its descriptors."""
        started.close()
        self._groups.watched(started.process)

    def end_left(self, started: StartedShell) -> bool:
        """Kill what is left of a command of `open_with`; False where the sandbox does not know what that is."""
        return self._sandbox is not None and self._sandbox.end_left(started.process)

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        return self._groups.any_alive() or (self._sandbox is not None and self._sandbox.any_left())

    def close(self) -> None:
        """Kill every process that is still alive from commands, running ones too. More commands may follow."""
        self._groups.kill_all()

    def _environments(
        self, spec: CommandSpec, *, pty: bool, unset: tuple[str, ...] = ()
    ) -> tuple[dict[str, str], dict[str, str]]:
        """The variables of a fresh shell, and those for this command."""
        base = os.environ if self._variables is None else self._variables
        passed = self._settings.passthrough
        fresh = terminal_environment(base, passed) if pty else child_environment(base, passed=passed)
        fresh |= self._groups.variables
        fresh |= self._variables_inside(spec.confinement)
        without = spec.unset if isinstance(spec, ShellCommand) else unset
        given = {name: value for name, value in fresh.items() if name not in without}
        return fresh, given | dict(spec.env or {})

    def _variables_inside(self, confinement: Confinement | None) -> Mapping[str, str]:
        if confinement is None or self._sandbox is None:
            return {}
        try:
            return self._sandbox.variables(confinement)
        except OSError as problem:
            raise CommandError(f"Could not run the command confined: {problem}. Nothing was run.") from problem

    def with_refusals(self, outcome: CommandOutcome, spec: CommandSpec, started: StartedShell) -> CommandOutcome:
        """The outcome of a command, with what its confinement kept it from."""
        if self._sandbox is None or spec.confinement is None:
            return outcome
        by_network = self._sandbox.refusals(started.process)
        refused = looks_denied(outcome, spec.confinement, by_network, spec.cwd)
        return replace(outcome, refused=refused, unreached=by_network)


log = logging.getLogger(__name__)

_ENTER_AT_TERMINAL, _ENTER = "\r", "\n"
_ID_BYTES = 2


class OpensCommands(Protocol):
    """The part of an environment that starts commands which somebody else watches."""

    def open(self, spec: CommandSpec, *, unset: tuple[str, ...] = (), pty: bool = False) -> StartedShell:
        """Start a command with an input."""
        ...

    def closed(self, started: StartedShell) -> None:
        """Nobody watches it any more: close its descriptors."""
        ...


class LocalProcesses:
    """Implements `tools.shell.session.Processes`; safe to use from several threads.

    Args:
        environment: the session's; its `is_busy` and `close` count these processes too.
        memory: what the session's shell keeps.
        limits: how many, how long, how much.
        quiet_seconds: how long a process is silent after a question before it counts as waiting.
    """

    def __init__(
        self,
        environment: OpensCommands,
        memory: ShellMemory,
        limits: ProcessLimits | None = None,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._environment = environment
        self._memory = memory
        self._limits = limits or ProcessLimits()
        self._quiet_seconds = quiet_seconds
        self._lock = threading.Lock()
        self._processes: dict[str, BackgroundProcess] = {}
        self._listeners: list[Callable[[ProcessEvent], None]] = []

    @property
    def memory(self) -> ShellMemory:
        """What the session's shell keeps."""
        return self._memory

    def start(self, spec: ProcessSpec) -> ProcessInfo:
        """Start a command and return at once."""
        with self._lock:
            self._make_room()
            name = self._new_id()
            command = CommandSpec(spec.command, spec.cwd, 0.0, spec.env, spec.call_id, confinement=spec.confinement)
            started = self._environment.open(command, unset=spec.unset, pty=spec.pty)
            process = BackgroundProcess(
                name,
                started,
                spec,
                kept_chars=self._limits.kept_chars,
                quiet_seconds=self._quiet_seconds,
                on_event=self._tell,
                on_closed=self._environment.closed,
            )
            self._processes[name] = process
            process.watch()
        info = process.info()
        # One that is over at once may have told of its end before.
        self._tell(ProcessEvent("started", info))
        return info

    def list(self) -> Sequence[ProcessInfo]:
        """All that run, and those that ended lately."""
        with self._lock:
            self._forget_old()
            known = tuple(self._processes.values())
        return tuple(process.info() for process in known)

    def poll(self, process_id: str) -> ProcessView:
        """The process, and its output since the last poll or wait."""
        return self._find(process_id).news()

    def log(self, process_id: str) -> ProcessView:
        """The process, and all of its output that is kept."""
        return self._find(process_id).all_kept()

    def wait(self, process_id: str, timeout: float, interrupt: Interrupt) -> ProcessView:
        """As `poll`, once it has ended, waits for input, or `timeout` seconds have passed."""
        process = self._find(process_id)
        process.wait(timeout, interrupt)
        return process.news()

    def kill(self, process_id: str) -> ProcessInfo:
        """End it with everything it has started."""
        process = self._find(process_id)
        process.kill()
        return process.info()

    def write(self, process_id: str, data: str, *, submit: bool = False) -> ProcessInfo:
        """Type `data`, and press Enter after it when `submit`."""
        process = self._find(process_id)
        enter = (_ENTER_AT_TERMINAL if process.spec.pty else _ENTER) if submit else ""
        process.write(f"{data}{enter}".encode("utf-8", "surrogateescape"))
        return process.info()

    def end_input(self, process_id: str) -> ProcessInfo:
        """Tell it that no more input comes."""
        process = self._find(process_id)
        process.end_input()
        return process.info()

    def subscribe(self, listener: Callable[[ProcessEvent], None]) -> Callable[[], None]:
        """Call `listener` at each event until the function that this returns is called."""
        with self._lock:
            self._listeners.append(listener)

        def forget() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return forget

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            running = [process for process in self._processes.values() if process.running]
            self._listeners.clear()
        for process in running:  # all at once: each of them may take its time
            process.end()
        for process in running:
            process.kill()

    def _find(self, process_id: str) -> BackgroundProcess:
        with self._lock:
            process = self._processes.get(process_id)
            known = ", ".join(self._processes) or "none"
        if process is None:
            raise ToolError(f"There is no process {process_id!r} in this session. There are: {known}.")
        return process

    def _make_room(self) -> None:
        self._forget_old()
        ended = [name for name, process in self._processes.items() if not process.running]
        while ended and len(self._processes) >= self._limits.max_processes:
            del self._processes[ended.pop(0)]
        if len(self._processes) >= self._limits.max_processes:
            raise CommandError(
                f"{self._limits.max_processes} background processes are running, which is the most there may be. "
                "Nothing was started: end some with process(action=kill)."
            )

    def _forget_old(self) -> None:
        keep = self._limits.keep_finished_seconds
        for name in [name for name, process in self._processes.items() if process.ended_for > keep]:
            del self._processes[name]

    def _new_id(self) -> str:
        while (name := f"proc_{secrets.token_hex(_ID_BYTES)}") in self._processes:
            continue
        return name

    def _tell(self, event: ProcessEvent) -> None:
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:
                # A listener's trouble must not end the watch of the process.
                log.exception("an event of process %s was not delivered", event.info.id)
