"""Lets a command through the gate, and says how it is confined: also whether it may read the project's secret files.

A program may need a `.env`, and no command can be seen to leave one alone. So the person is asked once a project that
has such files. After a no the sandbox hides them, if it can hide a file in a directory in which commands make others;
under one that cannot (Landlock), each command that is not proved to only look is asked about. What git has of such a
file no sandbox hides, so a command of git that may print it is one of those that are asked about.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tools.approval.actions import ReadPath, ReadSecretFiles, RunCommand
from tools.approval.commands import classify_command
from tools.approval.gate import Gate
from tools.approval.policy import Decision, decide
from tools.approval.refusals import denied as denied_by_policy
from tools.environments.agreed_writes import AgreedWrites
from tools.environments.containment import Containment, InGit
from tools.environments.gated_places import written_place
from tools.environments.sandbox.port import Confinement
from tools.environments.workspace_secrets import words_in
from tools.errors import Denied
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.environments.git_effects import GitEffects, NewContent

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
    effects = _effects(gate, containment, action)
    foreseen = effects.places if effects is not None else ()
    written = [written_place(each.path, each.before, each.after) for each in foreseen]
    action = replace(action, changes=gate.undecided(written), unkept=effects.unkept if effects is not None else "")
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
    printed = frozenset(path for paths in in_git.printed.values() for path in paths)
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
            decision, plans = gate.authorize_command(replace(action, exposes=_named(bare)))
            if decision.outside or (plans == is_planning and gate.asks_nobody <= asks_nobody):
                unread = (*denied, *(path for path in kept if path not in bare))
                return decision, plans, unread, _shown(gate, action, in_git.compared, wishes, refused)
        # The mode has changed meanwhile, and what is asked was sorted out for another one.


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
    from tools.bash.read import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    calls = [call for call in read_command(action.command, action.cwd).invocations if call.program == "rm"]
    texts = [(call.cwd or "/", one.text) for call in calls for one in call.arguments if "\0" not in one.text]
    gone = {Path(os.path.realpath(Path(*names))) for names in texts}
    return any(not gone.isdisjoint(path.parents) for paths in exposed.values() for path in paths)


def _named(paths: Sequence[Path]) -> str:
    names = tuple(dict.fromkeys(path.name for path in paths))
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
