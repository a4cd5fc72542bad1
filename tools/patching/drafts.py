"""Drafts of files, saved all or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.arguments import display
from tools.context import ToolContext
from tools.environments.atomic_writes import ChangesTogether, FileChange, change_all
from tools.errors import FileMissing, ToolError, ToolInterrupted
from tools.files.diagnostics import new_problems
from tools.files.reading import read_whole, saved_text
from tools.files.seen import ChangedLines, digest_of
from tools.light_dataclass import dataclass
from tools.result import Shown, ShownDiff, ShownText
from tools.text.encoding import TextFile, count_lines, decode
from tools.text.matching import compact_diff, hunk_headers, same_head, same_tail

# Files as they would be: what a patch does is done here first, and reaches the disk only when all of it could be.


@dataclass(slots=True)
class Draft:
    """One path.

    Attributes:
        path: absolute.
        before: the bytes that are there, None where nothing is.
        now: the bytes that shall be there.
        source: where a file that was moved here is.
        moved_to: where the file that is here goes.
        lines: the lines (1-based) that begin a change.
        notes: what the model should know.
    """

    path: Path
    before: bytes | None
    now: bytes | None
    source: Path | None = None
    moved_to: Path | None = None
    lines: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Drafts:
    """The files that a patch works on, in the order in which it names them."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._drafts: dict[Path, Draft] = {}

    def at(self, path: Path) -> Draft:
        """The draft of a path.

        Raises:
            ToolError: what is there cannot be read.
        """
        if path not in self._drafts:
            self._check_apart(path)
            before = read_whole(path, self._ctx)
            self._drafts[path] = Draft(path, before, before)
        return self._drafts[path]

    def _check_apart(self, path: Path) -> None:
        real = os.path.realpath(path)
        twin = next((known for known in self._drafts if os.path.realpath(known) == real), None)
        if twin is not None:
            names = f"{display(twin, self._ctx)} and {display(path, self._ctx)}"
            raise ToolError(f"{names} are the same file (one is a link): use one name for it in a patch.")

    def move(self, draft: Draft, target: Path) -> Draft:
        """Let the file go to `target`, and return the draft of that.

        Raises:
            ToolError: something is there that would be lost.
        """
        if draft.path == target:
            return draft
        there = self.at(target)
        self.check_free(there)
        there.now, there.source = draft.now, draft.source or draft.path
        there.lines, there.notes = draft.lines, draft.notes
        draft.now, draft.moved_to, draft.source = None, target, None
        return there

    def check_free(self, draft: Draft) -> None:
        """Refuse to replace a file that the model may not know, or that the patch has changed itself.

        Raises:
            ToolError: there is one.
        """
        name = display(draft.path, self._ctx)
        if not draft.now:
            return
        if draft.now != draft.before or draft.source is not None:
            raise ToolError(f"{name}: the patch puts another file in its place after it has changed it.")
        if self._ctx.seen is None:
            return
        known = self._ctx.seen.known(draft.path)
        if known is None or known.digest != digest_of(draft.now):
            raise ToolError(
                f"{name} exists already, and you have not read it as it is now. Read it first, or change it with "
                "*** Update File."
            )
        if decode(draft.now) is None:
            raise ToolError(f"{name} exists already, and is no text file. If it may really go, delete it first.")

    def changes(self) -> list[tuple[Draft, FileChange]]:
        """What is to be done on disk: files that are made or changed first, those that go last."""
        changes = [(draft, change) for draft in self._drafts.values() if (change := self._change(draft)) is not None]
        return sorted(changes, key=lambda pair: pair[1].after is None)

    def _change(self, draft: Draft) -> FileChange | None:
        if draft.now == draft.before and draft.source is None:
            return None
        origin = None if draft.source is None else self._drafts[draft.source]
        if origin is not None and draft.before is None:
            return FileChange(draft.path, origin.before, draft.now, source=origin.path)
        if draft.now is None and self._is_moved(draft):
            return None
        return FileChange(draft.path, draft.before, draft.now)

    def _is_moved(self, draft: Draft) -> bool:
        """Whether the file leaves this path by a move, which needs no deletion beside it."""
        return any(other.source == draft.path and other.before is None for other in self._drafts.values())


def text_of(path: Path, data: bytes | None, ctx: ToolContext) -> TextFile:
    """The content of a file as text.

    Raises:
        ToolError: there is none, or it is no text.
    """
    name = display(path, ctx)
    if data is None:
        raise FileMissing(f"{name} does not exist. To create it use write_file, or *** Add File in a patch.")
    file = decode(data)
    if file is None:
        raise ToolError(f"{name} is a binary file: patch changes text only.")
    return file


# Puts drafts on the disk, all or none, and tells the model and the person what has become of each file.

_MAX_DIFF_CHARS = 4000
_MIN_DIFF_CHARS = 500


@dataclass(frozen=True, slots=True)
class Saved:
    """A change that was made.

    Attributes:
        before, after: the file's text; None where there is no file, or one that is no text.
        notes: what the model should know.
        problems: what is wrong with the new text that was not with the old; '' for nothing.
    """

    draft: Draft
    change: FileChange
    before: str | None
    after: str | None
    notes: tuple[str, ...]
    problems: str

    def shown(self) -> list[Shown]:
        """What the person sees of it."""
        change = self.change
        shown: list[Shown] = []
        if change.source is not None:
            shown.append(ShownText(f"Moved {change.source} to {change.path}."))
        if self.before is None and self.after is None:
            if change.source is None:
                shown.append(
                    ShownText(f"Deleted {change.path}, {len(change.before or b''):,} bytes of binary content.")
                )
        elif change.source is None or self.before != self.after:
            shown.append(ShownDiff(change.path, self.before, self.after))
        return shown

    def told(self, ctx: ToolContext, max_chars: int) -> dict[str, Any]:
        """What a program is told of it, with a diff of at most `max_chars` characters."""
        change = self.change
        told: dict[str, Any] = {"path": display(change.path, ctx)}
        if change.source is not None:
            told |= {"change": "moved", "from": display(change.source, ctx)}
        elif change.after is None:
            told["change"] = "deleted"
        elif change.before is None:
            told |= {"change": "added", "lines": count_lines(self.after or "")}
        else:
            told["change"] = "updated"
        if self.before is not None and self.after is not None and self.before != self.after:
            told["diff"] = compact_diff(self.before, self.after, max_chars)
        return told | self.remarks()

    def remarks(self) -> dict[str, Any]:
        """Note and problems, where there are any."""
        told = {"note": " ".join(self.notes), "problems": self.problems}
        return {name: text for name, text in told.items() if text}

    def line(self, name: str) -> str:
        """What became of the file and where, on one line."""
        change = self.change
        if change.source is not None:
            did = "moved"
        elif change.after is None:
            did = "deleted"
        else:
            did = "added" if change.before is None else "updated"
        where = "" if self.before is None or self.after is None else hunk_headers(self.before, self.after)
        return f"{name}: {did}{f', {where}' if where else ''}"

    def body(self, max_chars: int) -> str:
        """What the model should look at: what was not quite as it wrote, and the problems that this made."""
        if not (self.notes or self.problems):
            return ""
        before, after = self.before, self.after
        diff = compact_diff(before, after, max_chars) if before is not None and after is not None else ""
        problems = f"Problems that this change made:\n{self.problems}" if self.problems else ""
        return "\n".join(part for part in (diff, problems) if part)


def save(wanted: Sequence[tuple[Draft, FileChange]], ctx: ToolContext) -> list[Saved]:
    """Make all changes or none.

    Raises:
        ToolError: refused, changed meanwhile, not possible. ToolInterrupted.
    """
    changes = [change for _, change in wanted]
    # A move is two changes already, and three where the text changes too.
    is_several = len(changes) > 1 or any(change.source is not None for change in changes)
    if is_several and isinstance(ctx.fs, ChangesTogether):
        holds = ctx.fs.change_all(changes)
    else:
        holds = change_all(ctx.fs, changes)
    return [_saved(draft, change, held, ctx) for (draft, change), held in zip(wanted, holds, strict=True)]


def body_of(saved: Sequence[Saved], ctx: ToolContext, unchanged: Sequence[str] = ()) -> tuple[str, list[str]]:
    """What the model is told of the files: the text, and the parts of its last line.

    Args:
        unchanged: names of files that have stayed as they were.
    """
    share = share_of(saved)
    lines = [each.line(display(each.change.path, ctx)) for each in saved]
    lines += [f"{name}: unchanged" for name in unchanged]
    bodies = [each.body(share) for each in saved]
    notes = [note for each in saved for note in each.notes]
    if len(lines) == 1:
        return "".join(bodies), [*lines, *notes]
    told = [
        part for line, body in zip(lines, [*bodies, *("" for _ in unchanged)], strict=True) for part in (line, body)
    ]
    return "\n".join(filter(None, told)), [f"{len(lines)} files", *notes]


def share_of(saved: Sequence[Saved]) -> int:
    """The characters that the diff of each may have: they share the space."""
    return max(_MIN_DIFF_CHARS, _MAX_DIFF_CHARS // max(len(saved), 1))


def _saved(draft: Draft, change: FileChange, held: bytes | None, ctx: ToolContext) -> Saved:
    before, after = _text(change.before), _text(change.after)
    notes, problems = list(draft.notes), ""
    if held is not None and change.after is not None:
        text, otherwise = saved_text(held, change.after, after or "")
        after = text if after is not None else None
        notes += [otherwise] if otherwise else []
        if not otherwise:
            _note_seen(change, before, after, ctx)
        if after is not None and after != before:
            # The file is written: a cancel now must not make that unsaid.
            with contextlib.suppress(ToolInterrupted):
                problems = new_problems(change.path, before, after, ctx)
    return Saved(draft, change, before, after, tuple(notes), problems)


def _note_seen(change: FileChange, before: str | None, after: str | None, ctx: ToolContext) -> None:
    if ctx.seen is None or change.after is None:
        return
    if change.before is None:
        ctx.seen.note(change.path, digest_of(change.after), whole=True)
    elif change.source is None:
        ctx.seen.edited(
            change.path, digest_of(change.before), digest_of(change.after), _changed(before or "", after or "")
        )
    else:
        known = ctx.seen.known(change.source)
        if known is not None and known.digest == digest_of(change.before):
            ctx.seen.note(change.path, digest_of(change.after), whole=known.whole)


def _changed(before: str, after: str) -> ChangedLines:
    head = same_head(before, after)
    tail = same_tail(before, after, min(len(before), len(after)) - head)
    first = before.count("\n", 0, head) + 1
    last, new_last = (first + text.count("\n", head, len(text) - tail) for text in (before, after))
    return ChangedLines(first, last, new_last)


def _text(data: bytes | None) -> str | None:
    file = None if data is None else decode(data)
    return None if file is None else file.text
