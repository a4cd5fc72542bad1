"""Changes of a copy are made here: each is an edit that passes the same gate as any other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

from agent_core.emptied import remove_emptied
from agent_core.far_copy.copy import Change, FarCopy
from agent_core.far_copy.facts import Fact
from agent_core.far_copy.packing import read_here
from tools.approval.actions import WritePath
from tools.approval.questions import Answer, Approver, Question
from tools.errors import Denied, FileAccessError, ToolInterrupted
from tools.light_dataclass import dataclass
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
