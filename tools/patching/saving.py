"""Puts drafts on the disk, all or none, and tells the model and the person what has become of each file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from tools.arguments import display
from tools.context import ToolContext
from tools.diagnostics.report import new_problems
from tools.environments.together import ChangesTogether, FileChange, change_all
from tools.errors import ToolInterrupted
from tools.files.seen import ChangedLines, digest_of
from tools.files.whole_file import saved_text
from tools.light_dataclass import dataclass
from tools.patching.drafts import Draft
from tools.result import Shown, ShownDiff, ShownText
from tools.text.diffs import compact_diff, hunk_headers, same_head, same_tail
from tools.text.encoding import count_lines, decode

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
    holds = _made([change for _, change in wanted], ctx)
    return [_saved(draft, change, held, ctx) for (draft, change), held in zip(wanted, holds, strict=True)]


def told_together(saved: Sequence[Saved], ctx: ToolContext) -> list[dict[str, Any]]:
    """What a program is told of several files; their diffs share the space."""
    return [each.told(ctx, _share(saved)) for each in saved]


def body_of(saved: Sequence[Saved], ctx: ToolContext, unchanged: Sequence[str] = ()) -> tuple[str, list[str]]:
    """What the model is told of the files: the text, and the parts of its last line.

    Args:
        unchanged: names of files that have stayed as they were.
    """
    lines = [each.line(display(each.change.path, ctx)) for each in saved]
    lines += [f"{name}: unchanged" for name in unchanged]
    bodies = [each.body(_share(saved)) for each in saved]
    notes = [note for each in saved for note in each.notes]
    if len(lines) == 1:
        return "".join(bodies), [*lines, *notes]
    told = [
        part for line, body in zip(lines, [*bodies, *("" for _ in unchanged)], strict=True) for part in (line, body)
    ]
    return "\n".join(filter(None, told)), [f"{len(lines)} files", *notes]


def _share(saved: Sequence[Saved]) -> int:
    return max(_MIN_DIFF_CHARS, _MAX_DIFF_CHARS // max(len(saved), 1))


def _made(changes: Sequence[FileChange], ctx: ToolContext) -> Sequence[bytes | None]:
    # A move is two changes already, and three where the text changes too.
    is_several = len(changes) > 1 or any(change.source is not None for change in changes)
    if is_several and isinstance(ctx.fs, ChangesTogether):
        return ctx.fs.change_all(changes)
    return change_all(ctx.fs, changes)


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
