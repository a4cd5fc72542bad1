"""What a rewind would do, and what it has done. A rewind is an undo or, taking that back, a redo."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from agent_core.sessions.files.looking import FileState
from agent_core.sessions.records import TurnRecord
from tools.light_dataclass import dataclass

RewindKind = Literal["undo", "redo"]
Action = Literal["restore", "create", "delete", "chmod", "nothing"]
"""Other content; a file that is gone comes back; one that is new goes; other permissions; none."""
StepState = Literal["clean", "found", "already", "conflict", "lost"]
"""As the session left it; the same, but only found changed after a command; as it is to be; changed by someone else
since; cannot be done."""


@dataclass(frozen=True, slots=True)
class RewoundTurn:
    """A turn that is taken back or comes back. `prompt` is its prompt's first line, '' where it has no words."""

    record: TurnRecord
    prompt: str


@dataclass(frozen=True, slots=True)
class Trail:
    """What became of one path within the turns.

    Attributes:
        wanted: what it was before them; `left`: what they left.
        lost: why `wanted` is not kept; '' if it is.
        broken: why someone else's change may lie between theirs; '' if none can.
        by_command: a command had a part in it, so that its changes were found and not told.
        by_chance: a command that does not name the file ran while it changed.
    """

    path: Path
    wanted: FileState
    left: FileState
    lost: str = ""
    broken: str = ""
    by_command: bool = False
    by_chance: bool = False


@dataclass(frozen=True, slots=True)
class FolderTrail:
    """What became of one directory within the turns; with its permissions, as far as they are known.

    Attributes:
        wanted: what it was before them, `NOTHING` for one that they made; `left`: what they left.
    """

    path: Path
    wanted: FileState
    left: FileState

    @property
    def is_made(self) -> bool:
        """Whether it was not there before."""
        return self.wanted.hash is None


@dataclass(frozen=True, slots=True)
class FileStep:
    """What is to happen to one file.

    Attributes:
        reason: for a conflict what the matter is, for what is lost why it is; else ''.
        size_now, size_then: bytes now and afterwards; None where there is no file, or it is not known.
        preview: a unified diff from now to then, or a line about it; bounded.
    """

    trail: Trail
    action: Action
    state: StepState
    reason: str = ""
    size_now: int | None = None
    size_then: int | None = None
    preview: str = ""

    @property
    def path(self) -> Path:
        """The file, with the links in its directories resolved as they were then."""
        return self.trail.path


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """What a rewind would do, for a person to look at.

    Attributes:
        turns: newest first.
        steps: one for each path, in the order they are done.
        folders: directories that the turns made, removed or changed, outermost first: those that they made go if they
            are empty afterwards, the others become what they were.
        rewind_id: for a redo, the undo that it takes back.
    """

    session_id: str
    kind: RewindKind
    turns: tuple[RewoundTurn, ...]
    steps: tuple[FileStep, ...]
    folders: tuple[FolderTrail, ...] = ()
    rewind_id: int | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The turns' numbers, newest first."""
        return tuple(turn.record.number for turn in self.turns)


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one step. `reason`: why the file was kept or the step failed; else a remark, or ''."""

    path: Path
    action: Action
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RewindReport:
    """What a rewind has done.

    Attributes:
        done: files that were changed.
        already: files that were as they are to be.
        kept: files that someone else had changed, and that were left alone.
        failed: files that could not be brought back.
        trouble: why the conversation could not be rewound though the files were; '' if it was.
        messages_left: how many messages the model's history has now; None where `trouble` is.
    """

    kind: RewindKind
    turns: tuple[int, ...]
    done: tuple[FileOutcome, ...] = ()
    already: tuple[FileOutcome, ...] = ()
    kept: tuple[FileOutcome, ...] = ()
    failed: tuple[FileOutcome, ...] = ()
    trouble: str = ""
    messages_left: int | None = None
