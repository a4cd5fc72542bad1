"""Does what a patch says: everything in drafts first, then all of it on the disk, or nothing."""

from __future__ import annotations

from pathlib import Path

from tools.arguments import display, with_odd_bytes
from tools.context import ToolContext
from tools.errors import Denied, ToolError
from tools.files.losses import check_elisions, check_unread
from tools.files.whole_file import encoded
from tools.patching.drafts import Draft, Drafts, text_of
from tools.patching.hunks import HunksMisplaced, patched
from tools.patching.parsing import parse
from tools.patching.saving import Saved, body_of, save, told_together
from tools.patching.v4a import AddFile, DeleteFile, Operation, UpdateFile
from tools.result import Shown, ToolResult, plain
from tools.text.encoding import TextFile, decode, with_newlines

_MAX_PROBLEMS = 8


def apply_patch(patch: str, path: str, ctx: ToolContext) -> ToolResult:
    """Apply a patch in the V4A format, whole or not at all.

    Args:
        patch: its text.
        path: the file that hunks without a header belong to, '' for none.

    Returns:
        a line for each file: what became of it (added, updated, moved, deleted, unchanged) and where; notes,
        problems, and the diff where there are any.

    Raises:
        ToolError: it cannot be read, or a part of it cannot be done: why, for each hunk. ToolInterrupted.
    """
    drafts = Drafts(ctx)
    problems: list[str] = []
    touched: list[Draft] = []
    for operation in parse(patch, path):
        try:
            touched.append(_drafted(operation, drafts, ctx))
        except Denied:
            raise
        except HunksMisplaced as problem:
            problems += problem.problems
        except ToolError as problem:
            problems.append(str(problem))
    if problems:
        raise ToolError(_told(problems))
    saved = save(drafts.changes(), ctx)
    return _result(saved, touched, ctx)


def _drafted(operation: Operation, drafts: Drafts, ctx: ToolContext) -> Draft:
    draft = drafts.at(_resolved(operation.path, operation.at, ctx))
    match operation:
        case AddFile(text=text):
            drafts.check_free(draft)
            # What is replaced keeps its encoding and its line endings.
            file = (None if draft.now is None else decode(draft.now)) or TextFile("")
            fitted = with_newlines(text, "\r\n") if file.newline == "\r\n" else text
            _check_losses(draft, fitted, ctx)
            draft.now, draft.lines = encoded(draft.path, file, fitted, ctx), (1,)
        case DeleteFile():
            if draft.now is None:
                text_of(draft.path, None, ctx)
            draft.now, draft.source = None, None
        case UpdateFile(move_to=move_to):
            _update(draft, operation, ctx)
            if move_to is not None:
                return drafts.move(draft, _resolved(move_to, operation.at, ctx))
    return draft


def _check_losses(draft: Draft, text: str, ctx: ToolContext) -> None:
    """Refuse a whole text that would lose lines of what was there before the patch."""
    was = None if draft.before is None else decode(draft.before)
    if was is None:
        return
    name = display(draft.path, ctx)
    check_elisions(name, draft.path, was.text, text, whole=True)
    if draft.now is not None and ctx.seen is not None:
        check_unread(name, draft.path, was.text, text, ctx.seen.known(draft.path))


def _update(draft: Draft, operation: UpdateFile, ctx: ToolContext) -> None:
    if not operation.hunks and draft.now is not None:
        return  # it only moves, and may be anything
    file = text_of(draft.path, draft.now, ctx)
    name = display(draft.path, ctx)
    hunks = [hunk.mapped(file.as_meant) for hunk in operation.hunks] if file.has_odd_bytes else operation.hunks
    made = patched(file.text, hunks, name)
    check_elisions(name, draft.path, file.text, made.text, whole=False)
    draft.now = encoded(draft.path, file, made.text, ctx)
    draft.lines = made.lines
    draft.notes += tuple(f"{note[0].upper()}{note[1:]}." for note in made.notes)
    if file.is_guessed and draft.now != draft.before:
        draft.notes += (file.kept_note,)


def _resolved(path: str, at: int, ctx: ToolContext) -> Path:
    if "\0" in path:
        raise ToolError(f"Line {at} of the patch: the path holds a NUL character.")
    path = with_odd_bytes(path)
    try:
        path.encode("utf-8", "surrogateescape")
        return ctx.resolve(path)
    except (RuntimeError, ValueError) as problem:  # a home that nobody has, half a surrogate pair
        raise ToolError(f"Line {at} of the patch: {path!r} cannot be a path: {problem}.") from problem


def _told(problems: list[str]) -> str:
    told = problems[:_MAX_PROBLEMS]
    if hidden := len(problems) - len(told):
        told.append(f"… and {hidden} more problems.")
    return "\n\n".join(["The patch cannot be applied as a whole, so nothing was changed.", *told])


def _result(saved: list[Saved], touched: list[Draft], ctx: ToolContext) -> ToolResult:
    files = told_together(saved, ctx)
    changed = {each.change.path for each in saved} | {each.change.source for each in saved}
    unchanged = [draft for draft in touched if draft.path not in changed]
    names = [display(draft.path, ctx) for draft in unchanged]
    files += [{"path": name, "change": "unchanged"} for name in names]
    body, ending = body_of(saved, ctx, names)
    shown: list[Shown] = [part for each in saved for part in each.shown()]
    locations = [
        {"path": str(each.change.path), "line": each.draft.lines[0] if each.draft.lines else 1}
        for each in saved
        if each.change.after is not None
    ]
    first = locations[0] if locations else {"path": str(touched[0].path)}
    lines = list(saved[0].draft.lines) if saved and locations else []
    return plain(body, ending, {"files": files}, *shown, **first, lines=lines, locations=locations)
