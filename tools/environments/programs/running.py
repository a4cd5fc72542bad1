"""Programs that call tools on this machine: run as an environment of one, behind the gate."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

from tools.approval.gate import Gate
from tools.environments.command_watch import run_to_end
from tools.environments.containment import Containment
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.guardian import VARIABLE, kill_marked
from tools.environments.local_commands import LocalEnvironment
from tools.environments.program_finder import Interpreter, project_interpreter, system_interpreter
from tools.environments.programs.call_server import CallServer, asked_command, client_text, start_command
from tools.environments.shell_start import StartedShell
from tools.environments.temp_directories import own_directory
from tools.ports import CallTool, CommandOutcome, CommandSpec, Interrupt, Program, ProgramOutcome
from tools.settings import TerminalSettings
from tools.shell.session import ShellCommand


class ProgramEnvironment:
    """Implements `tools.ports.Environment` for one program: whatever command it is given, it starts the program.

    The command says the same as the program does; it was asked about.

    Args:
        local: the session's; the program counts as one of its commands.
        interpreter: the Python that runs it, for the command that it is started as.
        settings: how much of its output is kept.
    """

    def __init__(
        self,
        local: LocalEnvironment,
        program: Program,
        call: CallTool,
        interpreter: Callable[[CommandSpec], Interpreter],
        settings: TerminalSettings,
    ) -> None:
        self._local = local
        self._program = program
        self._call = call
        self._interpreter = interpreter
        self._settings = settings
        self.calls: Mapping[str, int] = {}

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Run the program to its end, the time-out or the cancel; then kill what it has left behind.

        Raises:
            CommandError: it could not be started.
        """
        if interrupt.is_set():
            return CommandOutcome("", None, interrupted=True)
        mark = f"{self._local.mark}.{secrets.token_hex(4)}"
        servers: list[CallServer] = []

        def start() -> StartedShell:
            started, connection = self._start(spec, mark)
            program = self._program
            first = (f"{client_text()}\n\n{program.module}".encode(), program.code.encode("utf-8", "replace"))
            servers.append(CallServer(connection, first, self._call, program.limits, interrupt))
            servers[0].start()
            return started

        def closed(started: StartedShell) -> None:
            servers[0].close()
            self.calls = servers[0].made()
            if not self._local.end_left(started):
                kill_marked(mark)
            self._local.closed(started)

        outcome, started = run_to_end(
            start, spec, on_output, interrupt,
            settings=self._settings, quiet_seconds=None, closed=closed, leaves_nothing=True,
        )  # fmt: skip
        return self._local.with_refusals(outcome, spec, started)

    def is_busy(self) -> bool:
        """Whether processes of the session's commands are still alive."""
        return self._local.is_busy()

    def close(self) -> None:
        """Leave the session's environment alone."""

    def _start(self, spec: CommandSpec, mark: str) -> tuple[StartedShell, socket.socket]:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                descriptor, python = theirs.fileno(), self._interpreter(spec)
                command = replace(
                    spec,
                    command=start_command(python.path, descriptor, isolated=python.isolated),
                    env={**(spec.env or {}), VARIABLE: mark},
                )
                return self._local.open_with(command, descriptor), ours
        except BaseException:
            ours.close()
            raise


# Programs as tools get them: asked about and confined as the commands are that would do the same.


class GatedPrograms:
    """Implements `tools.ports.Programs` for one tool call.

    Args:
        local: where the session's commands run on this machine.
        settings: how much output is kept.
    """

    def __init__(
        self,
        local: LocalEnvironment,
        gate: Gate,
        containment: Containment,
        settings: TerminalSettings,
    ) -> None:
        self._local = local
        self._gate = gate
        self._containment = containment
        self._settings = settings

    def run(
        self, program: Program, call: CallTool, on_output: Callable[[str], None], interrupt: Interrupt
    ) -> ProgramOutcome:
        """Ask, then run."""
        is_strict = program.limits.mode == "strict"
        interpreter = self._interpreter(program)
        inner = ProgramEnvironment(self._local, program, call, self._choice(interpreter), self._settings)
        # Wherever commands run, a program runs here.
        here = replace(self._containment, elsewhere=lambda: "")
        outer = GatedEnvironment(inner, self._gate, here)
        kept = {} if is_strict else program.variables
        with (
            own_directory("hermes-program-") if is_strict else nullcontext(program.cwd) as cwd,
            self._gate.approvals.asked.watching(self._gate.call_id) as asked,
            here.places.agreed.noting(),
        ):
            spec = ShellCommand(
                asked_command(interpreter.shown, program.code),
                cwd,
                program.limits.timeout,
                {name: value for name, value in kept.items() if value is not None},
                save_to=program.save_to,
                unset=tuple(name for name, value in kept.items() if value is None),
                waited=asked.seconds,
                once=True,
            )
            outcome = outer.run(spec, on_output, interrupt)
        return ProgramOutcome(outcome, inner.calls)

    def _choice(self, interpreter: Interpreter) -> Callable[[CommandSpec], Interpreter]:
        """Which Python a start gets: the one that the person was shown, or that is confined; else the system's.

        A workspace's environment, and modules in it, are what anybody has made them, confined programs as well. Where
        nobody is asked, that must not be their way out of the sandbox. And what runs in plan mode is what the user
        has, not what the workspace brings.
        """
        asked_nobody = self._gate.asks_nobody

        def choose(spec: CommandSpec) -> Interpreter:
            is_unseen = asked_nobody or self._gate.asks_nobody
            is_free = spec.confinement is None and self._containment.contains
            if not spec.only_looks and not (is_free and is_unseen):
                return interpreter
            return replace(system_interpreter(self._local.fresh_variables()), isolated=True)

        return choose

    def _interpreter(self, program: Program) -> Interpreter:
        variables = self._local.fresh_variables()
        if program.limits.mode == "strict":
            return replace(system_interpreter(variables), isolated=True)
        if self._gate.is_planning:
            return system_interpreter(variables)
        return project_interpreter(program.cwd, program.variables, variables)
