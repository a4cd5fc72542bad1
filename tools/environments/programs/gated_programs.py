"""Programs as tools get them: asked about and confined as the commands are that would do the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.approval.gate import Gate
from tools.context import Interrupt
from tools.environments.containment import Containment
from tools.environments.gated_commands import GatedEnvironment
from tools.environments.local_commands import LocalEnvironment
from tools.environments.programs.interpreter import Interpreter, project_interpreter, system_interpreter
from tools.environments.programs.local_programs import ProgramEnvironment
from tools.environments.programs.starting import asked_command
from tools.files.history import FileHistory
from tools.programs.port import CallTool, Program, ProgramOutcome
from tools.settings import TerminalSettings
from tools.shell.memory import ShellCommand


class GatedPrograms:
    """Implements `tools.programs.port.Programs` for one tool call.

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
        inner = ProgramEnvironment(self._local, program, call, interpreter.path, self._settings, isolated=is_strict)
        # Wherever commands run, a program runs here.
        here = replace(self._containment, elsewhere=lambda: "")
        outer = GatedEnvironment(inner, self._gate, self._history, here)
        kept = {} if is_strict else program.variables
        with (
            TemporaryDirectory(prefix="hermes-program-") if is_strict else nullcontext(program.cwd) as cwd,
            self._gate.approvals.asked.watching(self._gate.call_id) as asked,
            here.places.agreed.noting(),
        ):
            spec = ShellCommand(
                asked_command(interpreter.shown, program.code),
                Path(cwd),
                program.limits.timeout,
                {name: value for name, value in kept.items() if value is not None},
                save_to=program.save_to,
                unset=tuple(name for name, value in kept.items() if value is None),
                waited=asked.seconds,
                once=True,
            )
            outcome = outer.run(spec, on_output, interrupt)
        return ProgramOutcome(outcome, inner.calls)

    def _interpreter(self, program: Program) -> Interpreter:
        variables = self._local.fresh_variables()
        # What only looks was proved of the programs that the user has, not of those of a workspace.
        if program.limits.mode == "strict" or self._gate.is_planning:
            return system_interpreter(variables)
        return project_interpreter(program.cwd, program.variables, variables)
