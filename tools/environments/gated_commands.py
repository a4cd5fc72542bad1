"""Commands as tools get them: asked about, confined, and looked after when the sandbox refuses something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tools.approval.actions import RunCommand
from tools.approval.gate import Gate
from tools.approval.refusals import kept_in
from tools.environments.containment import Containment, may_bring_anything
from tools.environments.gated_confinement import LetThrough, let_through
from tools.environments.gated_places import look_after
from tools.errors import Denied
from tools.ports import CommandOutcome, CommandSpec, Environment, FileHistory, Interrupt, NoHistory
from tools.shell.session import forgetful, taken_away, with_path_of, without_kept, without_path

AGAIN = "\n— again, without the sandbox —\n"
"""What the person sees between two runs of a command."""


class GatedEnvironment:
    """An `Environment` that asks before a command runs, and confines what nobody was asked about."""

    def __init__(
        self,
        inner: Environment,
        gate: Gate,
        history: FileHistory | None = None,
        containment: Containment | None = None,
    ) -> None:
        self._inner = inner
        self._gate = gate
        self._history = history or NoHistory()
        self._containment = containment or Containment()

    def run(self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt) -> CommandOutcome:
        """Ask, then run; where the sandbox refused something, ask whether to run again without it.

        Raises:
            CommandError: it could not be started, or not be confined.
            Denied, ToolInterrupted: it may not run.
        """
        elsewhere = self._containment.elsewhere()
        was_planning = self._gate.is_planning
        action = RunCommand(
            spec.command,
            spec.cwd,
            outside=spec.outside,
            uncontained=elsewhere,
            runs_along=self._containment.runs_along(spec.command, spec.cwd, None if was_planning else spec.env),
            reveals=self._containment.reveals(spec.command, spec.cwd),
            variables=self._containment.variables(spec.env, taken_away(spec)),
        )
        through = let_through(self._gate, self._containment, action, is_here=not elsewhere)
        decision, is_planning = through.decision, through.is_planning
        if may_bring_anything(through.confinement, only_looks=through.only_looks):
            self._gate.approvals.note_others()
        of_call = replace(
            spec,
            call_id=self._gate.call_id,
            confinement=through.confinement,
            only_looks=through.only_looks,
        )
        if is_planning or was_planning:
            # That a command only looks was proved of the programs that the user has, not of another PATH's.
            of_call = without_kept(of_call)
        # Nobody has seen what the programs of these names would be.
        is_cut = decision.outside and self._gate.asks_nobody and self._containment.is_led_astray(spec.env)
        if is_cut:
            of_call = without_path(of_call)
        hosts = self._containment.hosts.asking_for(self._gate, spec.command)
        with (
            self._history.command(of_call, lambda why: self._confirm_loss(through, why)) as changed,
            hosts as running,
        ):
            of_call = replace(of_call, waited=lambda: running.waited() + spec.waited())
            outcome = self._run(of_call, on_output, interrupt, through)
            if outcome.refused and not spec.once and not through.only_looks:
                if why := self._kept_in(action, outcome.refused):
                    outcome = replace(outcome, kept_in=why)
                else:
                    on_output(AGAIN)
                    outcome = self._run(replace(of_call, confinement=None), on_output, interrupt, through)
            elif outcome.refused and not is_planning:
                outcome = replace(outcome, kept_in=self._would_be_kept_in(action, outcome.refused))
        outcome = replace(outcome, changed=tuple(changed))
        if is_cut:
            outcome = with_path_of(spec, outcome)
        return forgetful(replace(outcome, only_read=not decision.only_looks)) if is_planning else outcome

    def is_busy(self) -> bool:
        """Whether processes of earlier commands are still alive."""
        return self._inner.is_busy()

    def close(self) -> None:
        """Leave the backend alone: it belongs to the session, not to one call."""

    def _run(
        self, spec: CommandSpec, on_output: Callable[[str], None], interrupt: Interrupt, through: LetThrough
    ) -> CommandOutcome:
        if spec.confinement is None:
            return self._inner.run(spec, on_output, interrupt)
        places, is_busy = self._containment.places, self._inner.is_busy()
        if spec.confinement.level == "read-only" and not is_busy and not places.is_left:
            return self._inner.run(spec, on_output, interrupt)
        # While something of earlier commands still runs, what has changed since the last look may be its work.
        before = places.before(keep=is_busy)
        with places.agreed.noting(through.named):
            through.note_agreed(places.agreed)
            try:
                outcome = self._inner.run(spec, on_output, interrupt)
            finally:
                # Asked before the look: what ends between the two is seen by it.
                if self._inner.is_busy():
                    places.go_on()
                put_back = look_after(
                    places, before, self._gate, history=self._history, command=spec.command, cwd=spec.cwd
                )
        return replace(outcome, put_back=put_back)

    def _confirm_loss(self, through: LetThrough, unkept: str) -> None:
        """Ask again about a command that takes more than was kept in time.

        Raises:
            Denied, ToolInterrupted: it may not run.
        """
        self._gate.authorize(replace(through.action, changes=(), unkept=unkept))

    def _kept_in(self, action: RunCommand, refused: str) -> str:
        """Why it may not run again without the sandbox; '' where it may."""
        try:
            self._gate.authorize(replace(action, outside=True, refused=refused))
        except Denied as no:
            return kept_in(no, asks_nobody=self._gate.asks_nobody)
        return ""

    def _would_be_kept_in(self, action: RunCommand, refused: str) -> str:
        """Why asking to run it without the sandbox would be in vain; '' where the person would be asked."""
        decision = self._gate.approvals.decide(replace(action, outside=True, refused=refused))
        return kept_in(None, asks_nobody=self._gate.asks_nobody) if decision.verdict == "deny" else ""
