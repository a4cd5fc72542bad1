"""Changes of a copy are made here, each as an edit that passes the gate; the others are kept as patches."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path

from agent_core.background_tasks import News
from agent_core.delegation.worktree import how_to_apply, remove_emptied, write_rest
from agent_core.remote.copy import Change, FarCopy
from agent_core.remote.select import ADVICE, Fact, digest_of, fact_here, is_same, read_here
from tools.approval.actions import RunCommand, WritePath
from tools.approval.gate import Gate
from tools.approval.policy import Confines, Rules
from tools.approval.questions import Answer, Approver, Question
from tools.environments.atomic_writes import open_resolved
from tools.environments.git import Git, git_root, write_repository
from tools.environments.remote.scripts import quoted
from tools.environments.temp_directories import own_directory
from tools.errors import Denied, FileAccessError, ToolError, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.os_compat import O_NOCTTY, O_NONBLOCK, set_mode
from tools.ports import FileSystem, Interrupt
from tools.result import ShownDiff

_MOST_SHOWN = 40


@dataclass(slots=True)
class Returned:
    """What became of changes.

    Attributes:
        brought, removed: names of files that were written or removed here.
        executable: those whose content is the same on both sides now, and that may be executed there alone.
        kept: changes that were not made, to be kept as patches, and then left there (`copy.keep_apart`).
        words: about what was not made, or not wholly: a sentence each.
        is_cut: the turn was cancelled in between; the rest comes with the next one.
    """

    brought: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    diffs: list[ShownDiff] = field(default_factory=list)
    executable: list[Change] = field(default_factory=list)
    kept: list[Change] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    is_cut: bool = False

    @property
    def number(self) -> int:
        """How many files were changed here."""
        return len(self.brought) + len(self.removed)


def bring_back(copy: FarCopy, changes: Sequence[Change], files: FileSystem) -> Returned:
    """Make the changes that may be made. A file that both sides have changed is never touched.

    Args:
        files: those of this machine, behind a gate.

    Raises:
        OSError: there is no room here to store how the two sides are.
    """
    done = Returned()
    # A file may have taken the place of a directory.
    for change in sorted(changes, key=lambda change: change.there is not None):
        try:
            why = _brought(copy, change, files, done)
        except ToolInterrupted:
            done.is_cut = True
            break
        if why:
            done.words.append(f"{change.name} {why}")
            if change.obstacle:
                copy.settle(change.name, change.there, apart=True)
            else:
                done.kept.append(change)
    copy.save()
    return done


def _brought(copy: FarCopy, change: Change, files: FileSystem, done: Returned) -> str:
    """Make one change; why not, if it was not made."""
    path = copy.top / change.name
    if is_same(change.here, change.there):
        if not _is_runnable_there_alone(change) and change.there != change.here:
            done.words.append(f"{change.name} has other permissions there, which are not brought back")
    else:
        if change.here is None and any(name.startswith(f"{change.name}/") for name in done.removed):
            remove_emptied(path)
        before = read_here(path)
        if why := _hindrance(change, path, before) or _not_made(change, path, before, files):
            return why
        (done.removed if change.content is None else done.brought).append(change.name)
        if len(done.diffs) < _MOST_SHOWN and (diff := _diff(path, before, change.content)) is not None:
            done.diffs.append(diff)
    if _is_runnable_there_alone(change):
        done.executable.append(change)
    copy.settle(change.name, change.there)
    return ""


def _not_made(change: Change, path: Path, before: tuple[bytes, bool] | None, files: FileSystem) -> str:
    """Make a change through the gate; why not, if it was not made."""
    try:
        if change.content is None:
            files.remove(path, expected=b"" if before is None else before[0])
        else:
            files.write(path, change.content, expected=None if before is None else before[0])
    except Denied as no:
        return f"was refused: {no}"
    except FileAccessError as problem:
        return f"could not be changed here: {problem}"
    return ""


def _hindrance(change: Change, path: Path, before: tuple[bytes, bool] | None) -> str:
    """Why it is not to be tried; '' where it may be."""
    if change.obstacle:
        return change.obstacle
    if change.is_conflict:
        return "was changed on both sides"
    if os.path.realpath(path) != str(path):
        return "is behind a link here"
    if (before is None) != (change.here is None) or (before is None and os.path.lexists(path)):
        return "is another here than when it was copied"
    return ""


def _is_runnable_there_alone(change: Change) -> bool:
    return change.there is not None and change.there.executable and not (change.here and change.here.executable)


def _diff(path: Path, before: tuple[bytes, bool] | None, after: bytes | None) -> ShownDiff | None:
    contents = (None if before is None else before[0], after)
    if any(content is not None and b"\0" in content for content in contents):
        return None
    texts = [None if content is None else content.decode("utf-8", "replace") for content in contents]
    return ShownDiff(path, texts[0], texts[1])


@dataclass(frozen=True, slots=True)
class AgreedAlready:
    """An approver that says yes to what the person has said yes to there: the same file, the same content."""

    asks: Approver
    is_agreed: Callable[[Path, bytes], bool]

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Ask about what is new."""
        action = question.action
        if isinstance(action, WritePath) and action.after is not None and self.is_agreed(action.path, action.after):
            return Answer(allowed=True)
        return self.asks.ask(question, interrupt)


# Files that may be executed in a copy are made so here: by a command that is asked about like any other.

_MOST = 50


def rules_for(rules: Rules) -> Rules:
    """Those for such a command: it runs on this machine, whatever confines those of the copy."""
    return replace(rules, confines=Confines(lambda: "it is done on this machine, not in the copy"))


def make_executable(copy: FarCopy, changes: Sequence[Change], gate: Gate) -> str:
    """Let files be executed here that may be there, and are the same on both sides.

    Args:
        gate: asks about the command; its rules are those of `rules_for`.

    Returns:
        what the person and the model should know of those that were not made so; '' for nothing.

    Raises:
        ToolInterrupted: the turn was cancelled. OSError: it cannot be stored that they are.
    """
    wanted = changes[:_MOST]
    try:
        gate.authorize(RunCommand(" ".join(("chmod +x --", *(quoted(change.name) for change in wanted))), copy.top))
    except Denied as no:
        return not_executable(changes, f"chmod +x was refused: {no}")
    left = [*(change for change in wanted if not _made_so(copy, change)), *changes[_MOST:]]
    copy.save()
    return not_executable(left) if left else ""


def not_executable(changes: Sequence[Change], why: str = "chmod +x makes them so") -> str:
    """What is told of files that were not made so."""
    return f"May be executed there, but not here yet: {', '.join(change.name for change in changes)}; {why}"


def _made_so(copy: FarCopy, change: Change) -> bool:
    path = copy.top / change.name
    if not is_same(fact_here(path), change.there):
        return False  # it is another meanwhile
    try:
        descriptor = open_resolved(path, os.O_RDONLY | O_NONBLOCK | O_NOCTTY)
    except OSError:
        return False
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        # As chmod does: for whom it may be read.
        set_mode(descriptor, mode | (mode & (stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)) >> 2)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    copy.settle(change.name, change.there)
    return True


# What of a copy's changes is not made here, kept aside.

_DIFF = ("diff", "--no-index", "--binary", "--no-renames", "--no-prefix", "--no-ext-diff", "--no-textconv")
_EXECUTABLE, _PLAIN = 0o755, 0o644
_MOST_NAMED = 20
_THEIRS = "theirs"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where it is.

    Attributes:
        command: what makes the changes here; '' for none.
        theirs: the directory of the files that both sides have changed, as they are there; None for none.
    """

    command: str = ""
    theirs: Path | None = None

    def __str__(self) -> str:
        """Sentences."""
        made = f"It is kept for a week; this makes it here: `{self.command}`. " if self.command else ""
        apart = (
            f"What both sides have changed is kept as it is there, for a week: {self.theirs}." if self.theirs else ""
        )
        return f"{made}{apart}".strip()


def keep_aside(copy: FarCopy, changes: Sequence[Change]) -> Kept:
    """Write a patch for each change, and the files that were changed here as well as they are there.

    Raises:
        ToolError: git cannot tell. OSError: there is no room.
    """
    kept = sorted((change for change in changes if not change.obstacle), key=lambda change: os.fsencode(change.name))
    patched = [change for change in kept if not change.is_conflict]
    theirs = [change for change in kept if change.is_conflict and change.content is not None]
    rest = copy.store.new_rest()
    if patched:
        _write_patches(copy, patched, rest)
    for change in theirs:
        _put(rest / _THEIRS / change.name, change.content, change.there)
    command = how_to_apply(git_root(copy.top) or copy.top, rest) if patched else ""
    return Kept(command, rest / _THEIRS if theirs else None)


def _write_patches(copy: FarCopy, changes: Sequence[Change], rest: Path) -> None:
    below = copy.top.relative_to(git_root(copy.top) or copy.top)
    with own_directory("hermes-patches-") as folder, Git(advice=ADVICE) as git:
        own = folder / "git"
        write_repository(own)
        for side in ("a", "b"):
            (folder / side).mkdir()
        for change in changes:
            before, fact = read_here(copy.top / change.name), change.here
            is_still = before is not None and fact is not None and digest_of(before[0]) == fact.digest
            content = before[0] if before is not None and is_still else None
            after = content if is_same(change.here, change.there) else change.content
            _put(folder / "a" / below / change.name, content, change.here)
            _put(folder / "b" / below / change.name, after, change.there)

        def patch(*names: str) -> bytes:
            if not (found := git.run(*_DIFF, *names, cwd=folder, git_dir=own, fine=(0, 1))):
                raise ToolError(f"git tells no difference of what was changed on {copy.where}.")
            return found

        def patch_of(number: int) -> bytes:
            sides = (Path(side) / below / changes[number].name for side in ("a", "b"))
            return patch("--", *(str(side) if (folder / side).exists() else os.devnull for side in sides))

        write_rest(rest, patch("a", "b"), len(changes), patch_of)


def kept_news(copy: FarCopy, changes: Sequence[Change], words: Sequence[str], why: str) -> News | None:
    """Keep changes that nobody can be asked about, and what the session shall be told of it; None for nothing.

    Args:
        words: about what cannot be kept.
        why: they were not brought back, in words that follow a colon.

    Raises:
        ToolError, OSError: as in `keep_aside`.
    """
    # What a killed process had brought back already would keep the patches beside it from being applied.
    changes = [change for change in changes if change.obstacle or change.here != change.there]
    if not changes and not words:
        return None
    where = f" {keep_aside(copy, changes)}".rstrip()
    title = f"What was changed on {copy.where} was not brought back: {why}."
    more = f", and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
    lost = [change.name for change in changes if change.obstacle]
    if lost:
        where += f" Not kept, as too large or in change: {', '.join(lost[:_MOST_NAMED])}."
    names = f" Files: {', '.join(change.name for change in changes[:_MOST_NAMED])}{more}." if changes else ""
    return news_of(f"{title}{where}", f"{title}{names} {' '.join(words)}{where}")


def news_of(title: str, text: str) -> News:
    """Something that a session shall know of its copy."""
    return News("workspace-copy", "told", title, text)


def _put(path: Path, content: bytes | None, fact: Fact | None) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(_EXECUTABLE if fact is not None and fact.executable else _PLAIN)
