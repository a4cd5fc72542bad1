"""The tool `patch`: changes files by replacing pieces of text, or by a patch in the V4A format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools import arguments
from tools.context import require_context
from tools.errors import ToolError
from tools.patching.v4a import paths_of
from tools.registry import registry
from tools.result import ToolResult

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "old_string": {"type": "string", "description": "Exact text of the file; add lines until it is unique"},
        "new_string": {"type": "string", "description": "What takes its place; '' deletes"},
        "replace_all": {"type": "boolean"},
        "edits": {
            "type": "array",
            "description": "Several replacements in path, in order",
            "items": {
                "type": "object",
                "properties": {
                    "old_string": {"type": "string"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                },
                "required": ["old_string", "new_string"],
            },
        },
        "patch": {
            "type": "string",
            "description": (
                "*** Begin Patch, *** Update File: path (then *** Move to: path), Add File or Delete File, "
                "@@ line above, lines with ' ', - or +, *** End Patch"
            ),
        },
    },
}
DESCRIPTION = (
    "Change files: replace text in one (path, old_string, new_string), or several with patch. All or nothing. "
    "Returns which lines changed."
)


def patch(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Replace pieces of one file, or apply a patch to several; all of it or nothing.

    Args:
        args: path, old_string, new_string, replace_all, edits, patch as in SCHEMA. What is given decides; a
            `mode` (replace or patch), of which no model is told, only where both are.
        kw: `ctx`, the call's ToolContext.

    Returns:
        which lines of each file have changed; the diff too where a text was not found quite as it was written, or
        where the change made problems.

    Raises:
        ToolError: both or neither given, not found (what comes closest is shown), not unique, refused.
        ToolInterrupted.
    """
    ctx = require_context(kw)
    text = arguments.text(args, "patch", "")
    mode = arguments.choice(args, "mode", ("replace", "patch"), "")
    replaces = bool(args.get("old_string") or args.get("edits"))
    if text.strip() and replaces and not mode:
        raise ToolError("Give either old_string and new_string, or edits, or patch. Nothing was changed.")
    if text.strip() and not (replaces and mode == "replace"):
        from tools.patching.hunks import apply_patch  # noqa: PLC0415 - loaded when it is used

        return apply_patch(text, arguments.text(args, "path", "").strip(), ctx)
    if not replaces and args.get("old_string") is None:
        raise ToolError(
            "path, old_string and new_string are missing; or patch, which begins with *** Begin Patch and *** Update "
            "File: path. Nothing was changed."
        )
    from tools.patching.replacing import edit_file  # noqa: PLC0415 - loaded when it is used

    return edit_file(args, ctx)


registry.register(
    name="patch",
    toolset="files",
    schema=SCHEMA,
    handler=patch,
    description=DESCRIPTION,
    parallel="paths",
    paths_fn=paths_of,
)
