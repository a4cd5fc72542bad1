"""Commands on this machine. No policy here: `gated_commands` stands in front."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.context import CommandOutcome, CommandSpec, Interrupt
from tools.environments.child_env import child_environment, terminal_environment
from tools.environments.command_watch import CommandWatch, Ending
from tools.environments.exit_status import exit_of
from tools.environments.guardian import Guardian
from tools.environments.output_buffer import OutputBuffer
from tools.environments.process_groups import signal_group
from tools.environments.prompt_watch import PromptWatch
from tools.environments.session_groups import SessionGroups
from tools.environments.shell_report import read_report
from tools.environments.shell_start import Input, ShellStarter, StartedShell
from tools.environments.wake import WakePipe
from tools.errors import CommandError
from tools.settings import TerminalSettings
from tools.shell.memory import ShellCommand, ShellOutcome

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Confinement, Sandbox

QUIET_SECONDS = 5.0
"""So long after a question a silent command counts as waiting for its answer."""

_KILLED_SECONDS = 5.0
_WITHOUT_TERMINAL = 4


class LocalEnvironment:
    """Implements `tools.context.Environment` with a new shell for each command; safe to use from several threads.

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
        buffer = OutputBuffer(self._settings.max_output_chars, self._settings.head_share, spec.save_to)

        def take(text: str) -> None:
            buffer.add(text)
            on_output(text)

        began = time.monotonic()
        reports = isinstance(spec, ShellCommand)
        reads: Input = "terminal" if pty else "nothing"
        confinement = spec.confinement
        started = self._starter.start(
            spec.command, spec.cwd, given, reads=reads, reports=reports, confinement=confinement
        )
        # Without a terminal hardly any program waits for a person: a silence has to be long to mean that.
        quiet = self._quiet_seconds if pty else self._quiet_seconds * _WITHOUT_TERMINAL
        prompts = PromptWatch(quiet, started.output if pty else None)
        try:
            ending = self._watch(started, spec, take, prompts, interrupt)
        finally:
            saved = buffer.close()
            self.closed(started)
        left = read_report(ending.report, fresh, given) if reports and ending.by_itself else None
        code, killer = exit_of(started.process.returncode)
        outcome = ShellOutcome(
            output=buffer.text(),
            exit_code=code,
            signal=killer,
            timed_out=ending.timed_out,
            interrupted=ending.interrupted,
            truncated_chars=buffer.truncated_chars,
            duration=time.monotonic() - began,
            saved=saved,
            left=left.state if left else None,
            not_kept=left.not_kept if left else (),
            waits_for=ending.waits_for,
        )
        return outcome if confinement is None else self._with_refusals(outcome, spec, started)

    def open(self, spec: CommandSpec, *, unset: tuple[str, ...] = (), pty: bool = False) -> StartedShell:
        """Start a command with an input, for somebody who watches it and then calls `closed`.

        Raises:
            CommandError: it could not be started.
        """
        _, variables = self._environments(spec, pty=pty, unset=unset)
        reads: Input = "terminal" if pty else "pipe"
        return self._starter.start(spec.command, spec.cwd, variables, reads=reads, confinement=spec.confinement)

    def closed(self, started: StartedShell) -> None:
        """Nobody watches the command any more: close its descriptors."""
        started.close()
        self._groups.watched(started.process)

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

    def _with_refusals(self, outcome: ShellOutcome, spec: CommandSpec, started: StartedShell) -> ShellOutcome:
        from tools.environments.sandbox.denial import looks_denied  # noqa: PLC0415 - not every session confines

        if self._sandbox is None or spec.confinement is None:
            return outcome
        by_network = self._sandbox.refusals(started.process)
        refused = looks_denied(outcome, spec.confinement, by_network, spec.cwd)
        return replace(outcome, refused=refused, unreached=by_network)

    @staticmethod
    def _watch(
        started: StartedShell,
        spec: CommandSpec,
        on_text: Callable[[str], None],
        prompts: PromptWatch,
        interrupt: Interrupt,
    ) -> Ending:
        wake = WakePipe()
        forget = interrupt.on_cancel(wake.wake)
        try:
            watch = CommandWatch(started, wake, spec.timeout, on_text, prompts=prompts, waited=spec.waited)
            return watch.run()
        except BaseException:
            # Whatever broke off the watch, nobody looks after the command any more.
            signal_group(started.process.pid, signal.SIGKILL)
            started.process.wait(_KILLED_SECONDS)
            raise
        finally:
            forget()
            wake.close()
