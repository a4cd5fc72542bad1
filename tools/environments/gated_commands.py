"""Commands and background processes as tools get them: asked about, confined, and looked after."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tools.approval.actions import ProcessInput, ReadPath, ReadSecretFiles, RunCommand
from tools.approval.commands import classify_command
from tools.approval.gate import Gate
from tools.approval.policy import Decision, decide
from tools.approval.questions import denied as denied_by_policy
from tools.approval.questions import kept_in
from tools.environments.containment import Containment, InGit, look_after, may_bring_anything, written_place
from tools.environments.persistence_watch import AgreedWrites
from tools.environments.sandbox.places import words_in
from tools.environments.sandbox.port import Confinement
from tools.errors import Denied
from tools.light_dataclass import dataclass
from tools.ports import CommandOutcome, CommandSpec, Environment, Interrupt
from tools.shell.session import (
    Processes,
    ProcessEvent,
    ProcessInfo,
    ProcessSpec,
    ProcessView,
    ShellMemory,
    forgetful,
    no_path,
    taken_away,
    with_path_of,
    without_kept,
    without_path,
)

if TYPE_CHECKING:
    from tools.environments.git_effects import GitEffects, NewContent


# Lets a command through the gate, and says how it is confined: also whether it may read the project's secret files.
# A program may need a `.env`, and no command can be seen to leave one alone. So the person is asked once a project
# that has such files. After a no the sandbox hides them, if it can hide a file in a directory in which commands make
# others; under one that cannot (Landlock), each command that is not proved to only look is asked about. What git has
# of such a file no sandbox hides, so a command of git that may print it is one of those that are asked about.

_Paths = Mapping[Path, tuple[Path, ...]]
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class LetThrough:
    """A command that may run.

    Attributes:
        action: as the person was asked about it.
        is_planning: the session is in plan mode by now.
        confinement: None: whatever the user may.
        foreseen: what its git commands would leave in places that others run later, as the person has seen it.
        named: places that others run later and that it names; resolved.
    """

    action: RunCommand
    decision: Decision
    is_planning: bool
    confinement: Confinement | None
    foreseen: tuple[NewContent, ...] = ()
    named: tuple[Path, ...] = ()

    @property
    def only_looks(self) -> bool:
        """Whether it was proved to change nothing."""
        return self.is_planning or self.decision.only_looks

    def note_agreed(self, agreed: AgreedWrites, *, is_left: bool = False) -> None:
        """What the person has seen on the command's card need not be asked about when it is there."""
        for each in self.foreseen:
            agreed.note(each.path, each.after, is_left=is_left, is_link=each.is_link, may_run=each.may_run)


def let_through(gate: Gate, containment: Containment, action: RunCommand, *, is_here: bool = True) -> LetThrough:
    """Ask about a command, and about what it could read.

    Args:
        is_here: it runs where it can be confined.

    Raises:
        Denied, ToolInterrupted: as `Gate.authorize` does.
    """
    foreseen: tuple[NewContent, ...] = ()
    if (effects := _effects(gate, containment, action)) is not None:
        foreseen = effects.places
        written = [written_place(each.path, each.before, each.after) for each in foreseen]
        action = replace(action, changes=gate.undecided(written), unkept=effects.unkept)
    named = _places_named(gate, action)
    command, cwd = action.command, action.cwd
    exposed = containment.exposed(command, cwd, is_here=is_here)
    in_git = containment.in_git(command, cwd)
    can_hide = bool(exposed) and is_here and containment.can_hide
    # Nothing has begun before all questions are answered.
    with gate.as_one() if exposed or any(in_git.printed.values()) else nullcontext():
        decision, is_planning, unread, read = _answered(gate, action, exposed, in_git, can_hide=can_hide)
    confinement = None
    if is_here:
        confinement = containment.of(
            decision, is_planning=is_planning, command=command, cwd=cwd, unread=unread, read=read
        )
    return LetThrough(action, decision, is_planning, confinement, foreseen, named)


def _effects(gate: Gate, containment: Containment, action: RunCommand) -> GitEffects | None:
    """What the command's git would do; None where it changes nothing here."""
    rules = gate.approvals.rules
    if rules.is_elsewhere or gate.is_planning or "git" not in action.command:
        return None
    from tools.environments.git_effects import git_effects  # noqa: PLC0415 - much to load, and a start needs none of it

    return git_effects(action.command, action.cwd, rules.roots, containment.places.run_by_git, gate.interrupt)


def _places_named(gate: Gate, action: RunCommand) -> tuple[Path, ...]:
    """Places that others run later which the command's text names, where the person themselves lets it run."""
    approvals = gate.approvals
    found = classify_command(action.command, action.cwd, approvals.rules.roots)
    places = tuple(_resolved(each.place) for each in found.findings if each.place.startswith("/"))
    # A rule for commands of a kind is no yes to a place.
    is_theirs = places and (
        approvals.decide(action).verdict == "ask" or approvals.grants.allows(action, found.reasons)
    )
    return places if is_theirs else ()


def _resolved(place: str) -> Path:
    path = Path(place)
    return Path(os.path.realpath(path.parent)) / path.name


def _answered(
    gate: Gate, action: RunCommand, exposed: _Paths, in_git: InGit, *, can_hide: bool
) -> tuple[Decision, bool, tuple[Path, ...], tuple[Path, ...]]:
    """The yes to a command, whether the session is in plan mode by now, and what is hidden from it and what shown."""
    printed = frozenset(chain.from_iterable(in_git.printed.values()))
    hides = can_hide and not _replaces_files(action, exposed)
    while True:
        asks_nobody, is_planning = gate.asks_nobody, gate.is_planning
        found = gate.approvals.decide(action)
        # The sandbox hides them from what may only look, but for what git has of them.
        only_looks = found.only_looks or is_planning
        seen = in_git.printed if only_looks or not any(exposed.values()) else exposed
        wishes, denied = _sorted_out(gate, action, seen, can_hide=can_hide and not only_looks)
        if shown := [path for path in denied if path in printed]:
            why = f"may print {_named(shown)}, which a rule denies to read (name other paths after `--`)"
            raise denied_by_policy(action, Decision("deny", why, "rule"))
        if is_planning:
            refused = [wish for wish in wishes if not _is_allowed(gate, wish)]
        else:
            refused = [wish for wish in wishes if gate.approvals.decide(wish).verdict == "deny"]
            if found.verdict != "deny" and not found.outside:
                # About the project first, so that the command's own card can name every reason.
                refused += [wish for wish in wishes if wish not in refused and not _may_read(gate, wish)]
        kept = [path for wish in refused for path in wish.paths]
        bare = [path for path in kept if path in printed or not (hides or only_looks)]
        if gate.is_planning == is_planning:
            decision, plans = gate.authorize_command(replace(action, exposes=_named(bare)) if bare else action)
            if decision.outside or (plans == is_planning and gate.asks_nobody <= asks_nobody):
                unread = (*denied, *(path for path in kept if path not in bare))
                return decision, plans, unread, _shown(gate, action, in_git.compared, wishes, refused)


def _sorted_out(
    gate: Gate, action: RunCommand, exposed: _Paths, *, can_hide: bool
) -> tuple[list[ReadSecretFiles], list[Path]]:
    """What is to be asked of each project, and which files a rule of the user's denies to read.

    What a rule or an answer lets tools read is neither, whatever the mode. Nor is what the command's own card names:
    a yes to that is one to this command with this file, whatever was said of the project. Where nobody is asked
    there is no such yes.
    """
    rules, answers = gate.approvals.rules, gate.approvals.grants
    is_asked = bool(exposed) and not gate.asks_nobody
    named = classify_command(action.command, action.cwd, rules.roots).secrets if is_asked else frozenset()
    wishes, denied = [], list[Path]()
    for project, paths in exposed.items():
        decided = [(path, decide(ReadPath(path), "default", rules, answers)) for path in paths]
        denied += [path for path, found in decided if found.cause == "rule"]
        settled = {*named, *denied}
        asked = tuple(path for path, found in decided if found.verdict != "allow" and path not in settled)
        if asked:
            wishes.append(ReadSecretFiles(project, asked, action.command, can_hide))
    return wishes, denied


def _shown(
    gate: Gate,
    action: RunCommand,
    compared: _Paths,
    wishes: Sequence[ReadSecretFiles],
    refused: Sequence[ReadSecretFiles],
) -> tuple[Path, ...]:
    """What git may compare with what it has, though it only looks: it could not tell otherwise what has changed."""
    asked, denied = _sorted_out(gate, action, compared, can_hide=False)
    agreed = {path for wish in wishes if wish not in refused for path in wish.paths}
    hidden = {path for wish in asked if not _is_allowed(gate, wish) for path in wish.paths} - agreed
    return tuple(path for paths in compared.values() for path in paths if path not in {*hidden, *denied})


def _is_allowed(gate: Gate, wish: ReadSecretFiles) -> bool:
    """Whether a rule, an answer or the mode in which nobody is asked says yes, in plan mode too."""
    approvals = gate.approvals
    mode = "default" if gate.is_planning else approvals.mode
    return decide(wish, mode, approvals.rules, approvals.grants).verdict == "allow"


def _may_read(gate: Gate, wish: ReadSecretFiles) -> bool:
    try:
        gate.authorize(wish)
    except Denied:
        # Whoever has said no for longer than this once is asked about the command; without an answer it must not run.
        if not wish.can_hide and gate.approvals.decide(wish).verdict != "deny":
            raise
        return False
    return True


def _replaces_files(action: RunCommand, exposed: _Paths) -> bool:
    """Whether a command would stop half way where one of these is hidden: nothing else can be put in its place."""
    words = words_in(action.command)
    if "git" in words:
        from tools.environments.git_effects import REPLACES_FILES  # noqa: PLC0415 - as above

        if not REPLACES_FILES.isdisjoint(words):
            return True
    if "rm" not in words:
        return False
    from tools.approval.commands.bash.interpreter import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    calls = [call for call in read_command(action.command, action.cwd).invocations if call.program == "rm"]
    texts = [(call.cwd or "/", one.text) for call in calls for one in call.arguments if "\0" not in one.text]
    gone = {Path(os.path.realpath(Path(*names))) for names in texts}
    return any(not gone.isdisjoint(path.parents) for paths in exposed.values() for path in paths)


def _named(paths: Sequence[Path]) -> str:
    names = tuple(dict.fromkeys(path.name for path in paths))
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


# Commands, also once more without the sandbox where it has refused something.

AGAIN = "\n— again, without the sandbox —\n"
"""What the person sees between two runs of a command."""


class GatedEnvironment:
    """An `Environment` that asks before a command runs, and confines what nobody was asked about."""

    def __init__(
        self,
        inner: Environment,
        gate: Gate,
        containment: Containment | None = None,
    ) -> None:
        self._inner = inner
        self._gate = gate
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
            self._gate.history.command(of_call, lambda why: self._confirm_loss(through, why)) as changed,
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
                put_back = look_after(places, before, self._gate, command=spec.command, cwd=spec.cwd)
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


# Background processes: starting one and typing into one pass the gate.
# What they change in places that others run later is asked about when the model next looks at one of them, or runs a
# command.

_T = TypeVar("_T")
_END_OF_INPUT = "\x04"


class GatedProcesses:
    """`Processes` that ask before a command runs and before something is typed. Looking and ending need no yes."""

    def __init__(
        self,
        inner: Processes,
        gate: Gate,
        containment: Containment | None = None,
        memory: ShellMemory | None = None,
    ) -> None:
        """Put the gate before `inner`; `memory` is what the shell keeps for whoever has one of their own."""
        self._inner = inner
        self._memory = memory
        self._gate = gate
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
        with self._gate.history.command(seen, late), self._containment.hosts.asking_for(self._gate, spec.command):
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
            look_after(places, places.before(keep=not is_over), self._gate)
        return found
