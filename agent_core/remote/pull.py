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
from agent_core.remote.select import ADVICE, Fact, fact_here, read_here, sent_before
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
        brought: contents that were written here, by name; a removed file has none.
        removed: names of files that were removed here.
        executable: those whose content is the same on both sides now, and that may be executed there alone.
        kept: changes that were not made, to be kept as patches, and then left there (`copy.keep_apart`).
        words: about what was not made, or not wholly: a sentence each.
        is_cut: the turn was cancelled in between; the rest comes with the next one.
    """

    brought: dict[str, bytes] = field(default_factory=dict)
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
    copy.save(done.brought)
    return done


def _brought(copy: FarCopy, change: Change, files: FileSystem, done: Returned) -> str:
    """Make one change; why not, if it was not made."""
    path = copy.top / change.name
    if _is_same(change):
        copy.settle(change.name, change.there)
        if _is_runnable_there_alone(change):
            done.executable.append(change)
        elif change.there != change.here:
            done.words.append(f"{change.name} has other permissions there, which are not brought back")
        return ""
    if change.here is None and any(name.startswith(f"{change.name}/") for name in done.removed):
        remove_emptied(path)
    before = read_here(path)
    if why := _hindrance(change, path, before):
        return why
    try:
        if change.content is None:
            files.remove(path, expected=b"" if before is None else before[0])
        else:
            files.write(path, change.content, expected=None if before is None else before[0])
    except Denied as no:
        return f"was refused: {no}"
    except FileAccessError as problem:
        return f"could not be changed here: {problem}"
    if change.content is None:
        done.removed.append(change.name)
    else:
        done.brought[change.name] = change.content
        if _is_runnable_there_alone(change):
            done.executable.append(change)
    if len(done.diffs) < _MOST_SHOWN and (diff := _diff(path, before, change.content)) is not None:
        done.diffs.append(diff)
    copy.settle(change.name, change.there)
    return ""


def _hindrance(change: Change, path: Path, before: tuple[bytes, bool] | None) -> str:
    """Why it is not to be tried; '' where it may be."""
    if change.obstacle:
        return change.obstacle
    if change.here != change.pair.here:
        return "was changed on both sides"
    if os.path.realpath(path) != str(path):
        return "is behind a link here"
    if (before is None) != (change.here is None) or (before is None and os.path.lexists(path)):
        return "is another here than when it was copied"
    return ""


def _is_runnable_there_alone(change: Change) -> bool:
    return change.there is not None and change.there.executable and not (change.here and change.here.executable)


def _is_same(change: Change) -> bool:
    return _digest(change.here) == _digest(change.there)


def _digest(fact: Fact | None) -> str:
    return "" if fact is None else fact.digest


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


def make_executable(copy: FarCopy, changes: Sequence[Change], gate: Gate) -> Sequence[str]:
    """Let files be executed here that may be there, and are the same on both sides.

    Args:
        gate: asks about the command; its rules are those of `rules_for`.

    Returns:
        what the person and the model should know of those that were not made so.

    Raises:
        ToolInterrupted: the turn was cancelled. OSError: it cannot be stored that they are.
    """
    if not (wanted := changes[:_MOST]):
        return ()
    command = " ".join(("chmod +x --", *(quoted(change.name) for change in wanted)))
    try:
        gate.authorize(RunCommand(command, copy.top))
    except Denied as no:
        return [not_executable([change.name for change in wanted], f"chmod +x was refused: {no}")]
    left = [change.name for change in changes[_MOST:]]
    left += [change.name for change in wanted if not _done(copy, change)]
    copy.save({})
    return [not_executable(left)] if left else ()


def not_executable(names: Sequence[str], why: str = "chmod +x makes them so") -> str:
    """What is told of files that were not made so."""
    return f"May be executed there, but not here yet: {', '.join(names)}; {why}"


def _done(copy: FarCopy, change: Change) -> bool:
    path = copy.top / change.name
    now = fact_here(path)
    if now is None or change.there is None or now.digest != change.there.digest:
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


# What of a copy's changes is not made here, kept as patches that `git apply` takes.

_DIFF = ("diff", "--no-index", "--binary", "--no-renames", "--no-prefix", "--no-ext-diff", "--no-textconv")
_EXECUTABLE, _PLAIN = 0o755, 0o644
_MOST_NAMED = 20


def keep_as_patches(copy: FarCopy, changes: Sequence[Change]) -> tuple[Path, str] | None:
    """Write a patch for each change, from what was last the same on both sides to what is there.

    Returns:
        where they are, and the command that makes the changes here; None where there is nothing to keep.

    Raises:
        ToolError: git cannot tell. OSError: there is no room.
    """
    kept = sorted((change for change in changes if not change.obstacle), key=lambda change: os.fsencode(change.name))
    if not kept:
        return None
    root = git_root(copy.top) or copy.top
    below = copy.top.relative_to(root)
    befores = _befores(copy, kept)
    with own_directory("hermes-patches-") as folder, Git(advice=ADVICE) as git:
        own = folder / "git"
        write_repository(own)
        for side in ("a", "b"):
            (folder / side).mkdir()
        for change in kept:
            _put(folder / "a" / below / change.name, befores.get(change.name), _before(change))
            _put(folder / "b" / below / change.name, change.content, change.there)

        def patch(*names: str) -> bytes:
            if not (found := git.run(*_DIFF, *names, cwd=folder, git_dir=own, fine=(0, 1))):
                raise ToolError(f"git tells no difference of what was changed on {copy.where}.")
            return found

        rest = copy.store.new_rest()
        rest.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_rest(rest, patch("a", "b"), len(kept), lambda number: _of_one(folder, below / kept[number].name, patch))
    return rest, how_to_apply(root, rest)


def kept_news(copy: FarCopy, changes: Sequence[Change], words: Sequence[str], why: str) -> News | None:
    """Keep changes that nobody can be asked about, and what the session shall be told of it; None for nothing.

    Args:
        words: about what cannot be kept.
        why: they were not brought back, in words that follow a colon.

    Raises:
        ToolError, OSError: as in `keep_as_patches`.
    """
    # What a killed process had brought back already would keep the patches beside it from being applied.
    changes = [change for change in changes if change.obstacle or change.here != change.there]
    kept = keep_as_patches(copy, changes)
    if not changes and not words:
        return None
    where = "" if kept is None else f" It is kept for a week; this makes it here: `{kept[1]}`."
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


def _of_one(folder: Path, name: Path, patch: object) -> bytes:
    assert callable(patch)  # noqa: S101 - for the types
    old, new = (str(Path(side) / name) if (folder / side / name).exists() else os.devnull for side in ("a", "b"))
    found = patch("--", old, new)
    assert isinstance(found, bytes)  # noqa: S101 - the same
    return found


def _before(change: Change) -> Fact | None:
    """What a patch begins with: what was last the same on both sides, or is so again."""
    here, there = change.here, change.there
    return here if here is not None and there is not None and here.digest == there.digest else change.pair.there


def _befores(copy: FarCopy, changes: Sequence[Change]) -> dict[str, bytes]:
    """The contents that patches begin with."""
    found, sought = dict[str, bytes](), dict[str, str]()
    for change in changes:
        if (before := _before(change)) is None:
            continue
        here = read_here(copy.top / change.name) if change.here in {change.pair.here, before} else None
        if here is not None and change.here is not None and change.here.digest == before.digest:
            found[change.name] = here[0]
        else:
            sought[change.name] = before.digest
    return found | (sent_before(copy.store.streams, sought) if sought else {})


def _put(path: Path, content: bytes | None, fact: Fact | None) -> None:
    if content is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(_EXECUTABLE if fact is not None and fact.executable else _PLAIN)
