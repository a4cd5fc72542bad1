"""Background processes as tools get them: starting one and typing into one pass the gate.

What they change in places that others run later is asked about when the model next looks at one of them, or runs a
command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tools.approval.actions import ProcessInput, RunCommand
from tools.approval.gate import Gate
from tools.environments.containment import Containment, may_bring_anything
from tools.environments.gated_confinement import let_through
from tools.environments.gated_places import look_after
from tools.ports import CommandSpec, FileHistory, Interrupt, NoHistory
from tools.shell.session import Processes, ProcessEvent, ProcessInfo, ProcessSpec, ProcessView, ShellMemory, no_path

_T = TypeVar("_T")
_END_OF_INPUT = "\x04"


class GatedProcesses:
    """`Processes` that ask before a command runs and before something is typed. Looking and ending need no yes."""

    def __init__(
        self,
        inner: Processes,
        gate: Gate,
        history: FileHistory | None = None,
        containment: Containment | None = None,
        memory: ShellMemory | None = None,
    ) -> None:
        """Put the gate before `inner`; `memory` is what the shell keeps for whoever has one of their own."""
        self._inner = inner
        self._memory = memory
        self._gate = gate
        self._history = history or NoHistory()
        self._containment = containment or Containment()

    @property
    def memory(self) -> ShellMemory:
        """What the session's shell keeps."""
        return self._memory or self._inner.memory

    def start(self, spec: ProcessSpec) -> ProcessInfo:
        """Ask, then start. What the command changes after that is not seen by the history."""
        was_planning = self._gate.is_planning
        action = RunCommand(
            spec.command,
            spec.cwd,
            outside=spec.outside,
            runs_along=self._containment.runs_along(spec.command, spec.cwd, None if was_planning else spec.env),
            reveals=self._containment.reveals(spec.command, spec.cwd),
            variables=self._containment.variables(spec.env, spec.unset),
        )
        through = let_through(self._gate, self._containment, action)
        if may_bring_anything(through.confinement, only_looks=through.only_looks):
            self._gate.approvals.note_others()
        of_call = replace(spec, call_id=self._gate.call_id, confinement=through.confinement)
        if through.is_planning or was_planning:
            # As with a command in the foreground: what was proved is proved of the programs of a fresh shell.
            of_call = replace(of_call, env=None, unset=())
        elif through.decision.outside and self._gate.asks_nobody and self._containment.is_led_astray(spec.env):
            of_call = replace(of_call, env=no_path(spec.env))
        if through.confinement is not None:
            self._containment.places.leave()
            through.note_agreed(self._containment.places.agreed, is_left=True)
        seen = CommandSpec(spec.command, spec.cwd, 0.0, of_call.env, of_call.call_id)
        late = lambda why: self._gate.authorize(replace(through.action, changes=(), unkept=why))  # noqa: E731
        with self._history.command(seen, late), self._containment.hosts.asking_for(self._gate, spec.command):
            return self._inner.start(of_call)

    def list(self) -> Sequence[ProcessInfo]:
        """All that run, and those that ended lately."""
        return self._looked_after(self._inner.list())

    def poll(self, process_id: str) -> ProcessView:
        """The process, and its output since the last poll or wait."""
        return self._looked_after(self._inner.poll(process_id))

    def log(self, process_id: str) -> ProcessView:
        """The process, and all of its output that is kept."""
        return self._looked_after(self._inner.log(process_id))

    def wait(self, process_id: str, timeout: float, interrupt: Interrupt) -> ProcessView:
        """As `poll`, once something has happened."""
        return self._looked_after(self._inner.wait(process_id, timeout, interrupt))

    def kill(self, process_id: str) -> ProcessInfo:
        """End it."""
        return self._looked_after(self._inner.kill(process_id))

    def write(self, process_id: str, data: str, *, submit: bool = False) -> ProcessInfo:
        """Ask, then type."""
        info = self._inner.log(process_id).info
        self._gate.authorize(ProcessInput(info.command, data, info.cwd))
        return self._inner.write(process_id, data, submit=submit)

    def end_input(self, process_id: str) -> ProcessInfo:
        """Ask as for any other key, since it goes on then; tell it that no more input comes."""
        info = self._inner.log(process_id).info
        self._gate.authorize(ProcessInput(info.command, _END_OF_INPUT, info.cwd))
        return self._inner.end_input(process_id)

    def subscribe(self, listener: Callable[[ProcessEvent], None]) -> Callable[[], None]:
        """Call `listener` at each event."""
        return self._inner.subscribe(listener)

    def close(self) -> None:
        """Leave them alone: they belong to the session, not to one call."""

    def _looked_after(self, found: _T) -> _T:
        places = self._containment.places
        if places.is_left:
            is_over = not self._containment.any_left() and not any(info.running for info in self._inner.list())
            look_after(places, places.before(keep=not is_over), self._gate, history=self._history)
        return found
