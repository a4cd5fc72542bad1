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
    hides = can_hide and not _replaces_files(action.command)
    wishes, unread = _sorted_out(gate, action, exposed, can_hide=can_hide)
    # In plan mode the sandbox hides them from everything.
    refused = [wish for wish in wishes if not gate.is_planning and gate.approvals.decide(wish).verdict == "deny"]
    # Nothing has begun before all questions are answered.
    with gate.as_one() if wishes else nullcontext():
        decision, is_planning = gate.authorize_command(action if hides else _exposing(action, refused))
        if not (decision.outside or decision.only_looks or is_planning):
            new = [wish for wish in wishes if wish not in refused and not _may_read(gate, wish)]
            refused += new
            if new and not hides and not gate.is_planning:
                decision, is_planning = gate.authorize_command(_exposing(action, refused))
    if gate.is_planning and not is_planning:
        decision, is_planning = gate.authorize_command(action)
    if hides:
        unread = (*unread, *(path for wish in refused for path in wish.paths))
    if not is_here:
        return LetThrough(decision, is_planning, None)
    command, cwd = action.command, action.cwd
    confinement = containment.of(decision, is_planning=is_planning, command=command, cwd=cwd, unread=unread)
    return LetThrough(decision, is_planning, confinement)


def _sorted_out(
    gate: Gate, action: RunCommand, exposed: Mapping[Path, tuple[Path, ...]], *, can_hide: bool
) -> tuple[tuple[ReadSecretFiles, ...], tuple[Path, ...]]:
    """What is to be asked of each project, and which files a rule of the user's denies to read.

    What a rule or an answer lets tools read is neither, whatever the mode.
    """
    rules, answers = gate.approvals.rules, gate.approvals.grants
    wishes, denied = [], list[Path]()
    for project, paths in exposed.items():
        decided = [(path, decide(ReadPath(path), "default", rules, answers)) for path in paths]
        denied += [path for path, decision in decided if decision.cause == "rule"]
        asked = tuple(path for path, decision in decided if decision.verdict != "allow" and path not in denied)
        if asked:
            wishes.append(ReadSecretFiles(project, asked, action.command, can_hide))
    return tuple(wishes), tuple(denied)


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
