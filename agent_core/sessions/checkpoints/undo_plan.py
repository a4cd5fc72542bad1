"""What a rewind (an undo, or taking that back, a redo) would do with each file, and how it would change it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.file_states import PRUNED, UNKNOWN, Change, FileState, Found, settled
from agent_core.sessions.checkpoints.restore import LOCAL_DISK, Disk
from agent_core.sessions.records import TurnRecord
from tools.approval.persistence_paths import run_later
from tools.light_dataclass import dataclass
from tools.text.matching import compact_diff

# The records of what a rewind would do, and of what it has done.

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


# How a rewind would change a file, shown before it does: a short diff, or sizes where there are no lines.

_DIFF_CHARS = 4_000
_MOST_DIFFS = 25
_COMPARED_BYTES = 200_000


def _with_preview(step: FileStep, found: Found, blobs: BlobStore, *, with_diff: bool) -> FileStep:
    """`step` with what is to be seen of it.

    Raises:
        StoreError: what the file was cannot be read.
    """
    wanted = step.trail.wanted
    if step.action == "delete":
        return replace(step, preview=f"is deleted ({found.size:,} bytes)")
    if step.action == "chmod":
        shown = f"permissions {_octal(found.state.mode)} → {_octal(wanted.mode)}"
        return replace(step, size_then=step.size_now, preview=shown)
    then = blobs.get(wanted.hash or "")
    if wanted.is_link:
        shown = f"becomes a link to {then.decode(errors='replace')}"
    elif found.kind not in {"file", "link"}:
        shown = f"comes back ({len(then):,} bytes)"
    else:
        shown = f"{found.size:,} bytes → {len(then):,} bytes"
        old, new = _lines(found.content), _lines(then)
        if with_diff and found.kind == "file" and old is not None and new is not None:
            shown = compact_diff(old, new, _DIFF_CHARS) or shown
    return replace(step, size_then=len(then), preview=shown)


def _lines(content: bytes | None) -> str | None:
    if content is None or len(content) > _COMPARED_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _octal(mode: int | None) -> str:
    return "unknown" if mode is None else f"{mode:04o}"


# What a rewind would do with each file.
# Three states of a file decide: what it was before the turns (wanted), what the turns left, and what it is now. Is it
# what they left, and did nobody else change it between their changes, it can be brought back. Is it wanted already,
# nothing is to do. Anything else is someone's work: it is not overwritten unless the person says so.

_MOST_BELOW = 10_000
_BEFORE_FORK = "it was changed before this session was forked: only the session that it was forked from can undo that"
BY_CHANCE = "it changed while a command ran that does not name it"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen to a file, and how it stands with it."""

    action: Action
    state: StepState
    reason: str = ""


def trails_of(changes: Iterable[Change]) -> list[Trail]:
    """One trail for each path that is not what it was before the changes: there is nothing to do about the others."""
    by_path: dict[Path, list[Change]] = {}
    for change in changes:
        if not change.is_folder:
            by_path.setdefault(change.path, []).append(change)
    trails = (
        Trail(
            path,
            found[0].before,
            found[-1].after,
            _why_lost(found[0].lost),
            _why_broken(found),
            any(change.by_command for change in found),
            any(change.is_found for change in found),
        )
        for path, found in by_path.items()
    )
    return [one for one in trails if one.lost or one.left.hash == UNKNOWN or one.wanted != one.left]


def folders_of(changes: Iterable[Change]) -> tuple[FolderTrail, ...]:
    """The directories that are not what they were, outermost first."""
    found: dict[Path, FolderTrail] = {}
    for change in changes:
        if change.is_folder:
            wanted = found[change.path].wanted if change.path in found else change.before
            found[change.path] = FolderTrail(change.path, wanted, change.after)
    return tuple(sorted(found.values(), key=lambda trail: len(trail.path.parts)))


def not_taken_back(changes: Iterable[Change], disk: Disk = LOCAL_DISK) -> tuple[FileStep, ...]:
    """What turns have left that were another session's when they ran: that is told and stays."""
    trails = [replace(trail, lost=_BEFORE_FORK) for trail in trails_of(changes)]
    judged = ((trail, judge(trail, disk.look(trail.path, 0))) for trail in trails)
    return tuple(
        FileStep(trail, made.action, made.state, made.reason) for trail, made in judged if made.state != "already"
    )


def steps_of(
    trails: Sequence[Trail], blobs: BlobStore, max_bytes: int, disk: Disk = LOCAL_DISK
) -> tuple[FileStep, ...]:
    """The steps, in the order that they can be done: files go, innermost first, before others come.

    Args:
        max_bytes: a larger file is not kept before it is overwritten.
        disk: whose files.
    """
    going = sorted((one for one in trails if one.wanted.hash is None), key=_depth, reverse=True)
    coming = sorted((one for one in trails if one.wanted.hash is not None), key=lambda one: one.path)
    steps: list[FileStep] = []
    cleared: set[Path] = set()
    for trail in (*going, *coming):
        found = disk.look(trail.path, max_bytes)
        verdict = judge(trail, found, cleared)
        if verdict.action == "delete" and verdict.state in {"clean", "found"}:
            cleared.add(trail.path)
        steps.append(_step(trail, found, verdict, blobs, with_diff=len(steps) < _MOST_DIFFS))
    return tuple(steps)


def judge(trail: Trail, found: Found, cleared: AbstractSet[Path] = frozenset()) -> Verdict:
    """How it stands with a file now.

    Args:
        found: what is at its path.
        cleared: files that will be gone by the time it comes to this one.
    """
    if found.kind == "other":
        return Verdict("nothing", "lost", found.problem)
    is_gone = trail.wanted.hash is None and found.kind == "directory"
    if is_gone or (found.kind != "directory" and trail.wanted.is_same(found.state)):
        return Verdict("nothing", "already")
    if trail.lost:
        return Verdict("nothing", "lost", trail.lost)
    if problem := _in_the_way(trail, found, cleared):
        return Verdict("nothing", "lost", problem)
    action = _action(trail.wanted, found.state)
    if problem := _conflict(trail, found, action):
        return Verdict(action, "conflict", problem)
    if trail.by_chance:
        return Verdict(action, "found", BY_CHANCE)
    if trail.by_command and action in {"create", "restore"} and (place := run_later(trail.path)) is not None:
        # Nobody was asked about what was there before: a command in the background may have left it.
        return Verdict(action, "found", f"it {place.why}, and a command has changed it")
    return Verdict(action, "clean")


def _action(wanted: FileState, now: FileState) -> Action:
    if wanted.hash is None:
        return "delete"
    if now.hash is None:
        return "create"
    same_content = wanted.hash == now.hash and wanted.is_link == now.is_link
    return "chmod" if same_content else "restore"


def _conflict(trail: Trail, found: Found, action: Action) -> str:
    if trail.left.hash == UNKNOWN:
        return "what the command left there is not known"
    if trail.broken:
        return trail.broken
    if not trail.left.is_same(found.state):
        return _difference(trail.left, found.state)
    if found.kind == "file" and found.content is None and action != "chmod":
        return f"it is too large ({found.size:,} bytes) to keep a copy of: it could not be brought back again"
    return ""


def _difference(left: FileState, now: FileState) -> str:
    if now.hash is None:
        return "someone else has deleted it since"
    if now.is_link and not left.is_link:
        return "someone else has put a link in its place since"
    if left.hash is None:
        return "someone else has made it again since"
    if left.hash == now.hash:
        return "someone else has changed its permissions since"
    return "someone else has changed it since"


def _in_the_way(trail: Trail, found: Found, cleared: AbstractSet[Path]) -> str:
    if settled(trail.path) != trail.path:
        return f"its directory is a link now, and leads to {settled(trail.path).parent}"
    if found.kind == "directory" and not _gives_way(trail.path, cleared):
        return "there is a directory at its path now"
    if found.kind == "blocked" and not any(folder in cleared for folder in trail.path.parents):
        return "one of its directories is a file now"
    return ""


def _gives_way(folder: Path, cleared: AbstractSet[Path]) -> bool:
    """Whether nothing is below `folder` but directories and files that will be gone."""
    seen = 0
    for parent, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > _MOST_BELOW:
            return False
        links = [name for name in folders if Path(parent, name).is_symlink()]
        if any(Path(parent, name) not in cleared for name in (*files, *links)):
            return False
    return True


def _step(trail: Trail, found: Found, verdict: Verdict, blobs: BlobStore, *, with_diff: bool) -> FileStep:
    size = None if found.kind in {"nothing", "blocked", "directory"} else found.size
    step = FileStep(trail, verdict.action, verdict.state, verdict.reason, size)
    if verdict.action == "nothing":
        return step
    try:
        return _with_preview(step, found, blobs, with_diff=with_diff)
    except StoreError as problem:
        return replace(step, action="nothing", state="lost", reason=str(problem))


def _depth(trail: Trail) -> tuple[int, Path]:
    return len(trail.path.parts), trail.path


def _why_lost(lost: str) -> str:
    return "what it was has been deleted meanwhile, to save space" if lost == PRUNED else lost


def _why_broken(changes: Sequence[Change]) -> str:
    first = changes[0].before
    for earlier, later in pairwise(changes):
        # A change that was noted and then did not happen leaves what was before it.
        known = (earlier.after, earlier.before, first)
        if not any(later.before.is_same(state) for state in known):
            return "someone else has changed it between the session's own changes"
    return ""
