"""Programs as tools get them: asked about and confined as the commands are that would do the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

from tools.approval.gate import Gate
from tools.environments.containment import Containment
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.local_commands import LocalEnvironment
from tools.environments.own_directories import own_directory
from tools.environments.programs.interpreter import Interpreter, project_interpreter, system_interpreter
from tools.environments.programs.local_programs import ProgramEnvironment
from tools.environments.programs.starting import asked_command
from tools.ports import CallTool, CommandSpec, FileHistory, Interrupt, Program, ProgramOutcome
from tools.settings import TerminalSettings
from tools.shell.session import ShellCommand


class GatedPrograms:
    """Implements `tools.settings.port.Programs` for one tool call.

    Args:
        local: where the session's commands run on this machine.
        settings: how much output is kept.
    """

    def __init__(
        self,
        local: LocalEnvironment,
        gate: Gate,
        history: FileHistory,
        containment: Containment,
        settings: TerminalSettings,
    ) -> None:
        self._local = local
        self._gate = gate
        self._history = history
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
        outer = GatedEnvironment(inner, self._gate, self._history, here)
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
