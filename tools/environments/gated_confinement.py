"""Lets a command through the gate, and says how it is confined: also whether it may read the project's secret files.

A program may need a `.env`, and no command can be seen to leave one alone. So the person is asked once a project that
has such files. After a no the sandbox hides them, if it can hide a file in a directory in which commands make others;
under one that cannot (Landlock), each command that is not proved to only look is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from tools.approval.actions import ReadPath, ReadSecretFiles, RunCommand
from tools.approval.commands import classify_command
from tools.approval.gate import Gate
from tools.approval.policy import Decision, decide
from tools.environments.containment import Containment
from tools.environments.sandbox.port import Confinement
from tools.environments.workspace_secrets import words_in
from tools.errors import Denied
from tools.light_dataclass import dataclass

_MOST_NAMES = 3
# Of git: it cannot put another file where one is hidden, and would stop half way.
_REPLACE_FILES = frozenset({
    "checkout", "switch", "restore", "stash", "merge", "pull", "rebase", "reset", "cherry-pick", "revert", "am",
    "apply", "bisect",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class LetThrough:
    """A command that may run.

    Attributes:
        is_planning: the session is in plan mode by now.
        confinement: None: whatever the user may.
    """

    decision: Decision
    is_planning: bool
    confinement: Confinement | None

    @property
    def only_looks(self) -> bool:
        """Whether it was proved to change nothing."""
        return self.is_planning or self.decision.only_looks


def let_through(gate: Gate, containment: Containment, action: RunCommand, *, is_here: bool = True) -> LetThrough:
    """Ask about a command, and about what it could read.

    Args:
        is_here: it runs where it can be confined.

    Raises:
        Denied, ToolInterrupted: as `Gate.authorize` does.
    """
    exposed = containment.exposed(action.command, action.cwd, is_here=is_here)
    can_hide = bool(exposed) and is_here and containment.can_hide
    # Nothing has begun before all questions are answered.
    with gate.as_one() if exposed else nullcontext():
        decision, is_planning, unread = _answered(gate, action, exposed, can_hide=can_hide)
    if not is_here:
        return LetThrough(decision, is_planning, None)
    command, cwd = action.command, action.cwd
    confinement = containment.of(decision, is_planning=is_planning, command=command, cwd=cwd, unread=unread)
    return LetThrough(decision, is_planning, confinement)


def _answered(
    gate: Gate, action: RunCommand, exposed: Mapping[Path, tuple[Path, ...]], *, can_hide: bool
) -> tuple[Decision, bool, tuple[Path, ...]]:
    """The yes to a command, whether the session is in plan mode by now, and what is to be hidden from it."""
    hides = can_hide and not _replaces_files(action.command)
    while True:
        asks_nobody, was_planning = gate.asks_nobody, gate.is_planning
        wishes, denied = _sorted_out(gate, action, exposed, can_hide=can_hide)
        # In plan mode the sandbox hides them from everything.
        refused = [wish for wish in wishes if not was_planning and gate.approvals.decide(wish).verdict == "deny"]
        undecided = [wish for wish in wishes if wish not in refused]
        if undecided and not was_planning and _may_change_inside(gate.approvals.decide(action)):
            # About the project first, so that the command's own card can name every reason.
            refused += [wish for wish in undecided if not _may_read(gate, wish)]
            undecided = []
        shows = not (hides or gate.is_planning)
        decision, is_planning = gate.authorize_command(_exposing(action, refused) if shows else action)
        unread = (*denied, *(path for wish in refused for path in wish.paths)) if hides else denied
        is_sorted_out = not undecided and (shows or hides or not refused)
        if is_planning or not _may_change_inside(decision) or (is_sorted_out and gate.asks_nobody <= asks_nobody):
            return decision, is_planning, unread
        # The mode has changed meanwhile, and what is asked was sorted out for another one.


def _sorted_out(
    gate: Gate, action: RunCommand, exposed: Mapping[Path, tuple[Path, ...]], *, can_hide: bool
) -> tuple[tuple[ReadSecretFiles, ...], tuple[Path, ...]]:
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
        denied += [path for path, decision in decided if decision.cause == "rule"]
        settled = {*named, *denied}
        asked = tuple(path for path, found in decided if found.verdict != "allow" and path not in settled)
        if asked:
            wishes.append(ReadSecretFiles(project, asked, action.command, can_hide))
    return tuple(wishes), tuple(denied)


def _may_change_inside(decision: Decision) -> bool:
    """Whether a command runs, or may run, in the sandbox and is not one that was proved to only look."""
    return decision.verdict != "deny" and not (decision.outside or decision.only_looks)


def _may_read(gate: Gate, wish: ReadSecretFiles) -> bool:
    try:
        gate.authorize(wish)
    except Denied:
        # Whoever has said no for longer than this once is asked about the command; without an answer it must not run.
        if not wish.can_hide and gate.approvals.decide(wish).verdict != "deny":
            raise
        return False
    return True


def _replaces_files(command: str) -> bool:
    words = words_in(command)
    return "git" in words and not _REPLACE_FILES.isdisjoint(words)


def _exposing(action: RunCommand, refused: Sequence[ReadSecretFiles]) -> RunCommand:
    names = tuple(dict.fromkeys(path.name for wish in refused for path in wish.paths))
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return replace(action, exposes=shown)
