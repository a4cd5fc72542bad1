"""Commands on this machine. No policy here: `gated_commands` stands in front."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.environments.child_env import child_environment, terminal_environment
from tools.environments.guardian import Guardian
from tools.environments.session_groups import SessionGroups
from tools.environments.shell_report import read_report
from tools.environments.shell_start import Input, ShellStarter, StartedShell
from tools.environments.watched_run import QUIET_SECONDS, run_to_end
from tools.errors import CommandError
from tools.ports import CommandOutcome, CommandSpec, Interrupt
from tools.settings import TerminalSettings
from tools.shell.session import ShellCommand

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Confinement, Sandbox


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
    """

    def __init__(
        self,
        guardian: Guardian,
        settings: TerminalSettings | None = None,
        variables: Mapping[str, str] | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._groups = SessionGroups(guardian)
        self._starter = ShellStarter(self._groups, sandbox=sandbox)
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
        """By which the processes of the session's commands are known (`tools.environments.marked`)."""
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
        from tools.environments.sandbox.denial import looks_denied  # noqa: PLC0415 - not every session confines

        by_network = self._sandbox.refusals(started.process)
        refused = looks_denied(outcome, spec.confinement, by_network, spec.cwd)
        return replace(outcome, refused=refused, unreached=by_network)
