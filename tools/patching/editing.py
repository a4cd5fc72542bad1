"""Does what a call with old_string and new_string says, or one with several such edits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tools import arguments
from tools.context import ToolContext
from tools.environments.together import FileChange
from tools.errors import ToolError
from tools.files.losses import check_elisions
from tools.files.whole_file import encoded, read_whole
from tools.patching.drafts import Draft, text_of
from tools.patching.replacing import Replacement, replaced
from tools.patching.saving import body_of, save
from tools.result import ShownDiff, ToolResult, plain
from tools.text.diffs import compact_diff

_MAX_FACTS = 100


def edit_file(args: Mapping[str, Any], ctx: ToolContext) -> ToolResult:
    """Replace pieces of the file at `path`: old_string, or all `edits` in order.

    Returns:
        which lines have changed; notes, problems, and the diff where there are any.

    Raises:
        ToolError: one of them cannot be done, and none is. ToolInterrupted.
    """
    path = arguments.path(args, ctx)
    wanted = _wanted(args)
    before = read_whole(path, ctx)
    file = text_of(path, before, ctx)
    wanted = [replace(each, old=file.as_meant(each.old), new=file.as_meant(each.new)) for each in wanted]
    made = replaced(file.text, wanted, str(path))
    check_elisions(arguments.display(path, ctx), path, file.text, made.text, whole=False)
    after = encoded(path, file, made.text, ctx)
    payload: dict[str, Any] = {"path": arguments.display(path, ctx), "replacements": made.count}
    lines = made.lines(_MAX_FACTS)
    facts = {"path": str(path), "line": lines[0], "lines": lines}
    if after == before:
        note = "That left the file as it was."
        return plain("", [note], {**payload, "note": note}, **facts)
    draft = Draft(path, before, after, notes=tuple(filter(None, (*made.notes, file.kept_note))))
    (saved,) = save([(draft, FileChange(path, before, after))], ctx)
    text = saved.after or ""
    payload |= {"diff": compact_diff(file.text, text), **saved.remarks()}
    body, (line, *notes) = body_of([saved], ctx)
    times = f"{made.count} replacements" if made.count != 1 else ""
    return plain(body, [line, times, *notes], payload, ShownDiff(path, file.text, text), **facts)


def _wanted(args: Mapping[str, Any]) -> list[Replacement]:
    edits = args.get("edits")
    if not edits:
        return [_replacement(args)]
    if args.get("old_string"):
        raise ToolError("Give either old_string and new_string or edits, not both. Nothing was changed.")
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        raise ToolError("The argument 'edits' has to be a list of objects with old_string and new_string.")
    return [_replacement(edit) for edit in edits]


def _replacement(args: Mapping[str, Any]) -> Replacement:
    old, new = arguments.text(args, "old_string"), arguments.text(args, "new_string")
    return Replacement(old, new, every=arguments.boolean(args, "replace_all"))
