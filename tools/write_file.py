"""The tool `write_file`: a file's whole new content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools import arguments
from tools.context import require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import Shown, ShownDiff, ShownText, ToolResult, ok
from tools.text.encoding import TextFile, count_lines, decode, with_newlines
from tools.whole_file import read_whole, saved_text

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}
DESCRIPTION = (
    "Create a file or replace its whole content; missing directories are made. To change a part of a file use patch."
)


def write_file(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Create a file or replace all of it, keeping the line endings and byte order mark it has.

    Args:
        args: path, content as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with path, status (created, replaced, unchanged), bytes and lines.

    Raises:
        ToolError: refused, changed meanwhile, or not possible. ToolInterrupted.
    """
    ctx = require_context(kw)
    path = arguments.path(args, ctx)
    content = arguments.text(args, "content")
    before = read_whole(path, ctx)
    old = None if before is None else decode(before)
    text, note = _fitted(content, old)
    data = _encoded(text, old)
    facts = {"path": str(path), "line": 1}
    payload: dict[str, Any] = {"path": arguments.display(path, ctx)}
    if data == before:
        note = "The file has this content already."
        return ok({**payload, "status": "unchanged", **_sizes(data, text), "note": note}, ShownText(note), **facts)
    written = ctx.fs.write(path, data, expected=before)
    text, otherwise = saved_text(written, data, text)
    payload |= {"status": "created" if before is None else "replaced", **_sizes(written, text)}
    if note := " ".join(filter(None, (note, _lost(before, old), otherwise))):
        payload["note"] = note
    shown: Shown = ShownDiff(path, None if old is None else old.text, text)
    if before is not None and old is None:
        shown = ShownText(f"Replaced {len(before):,} bytes of binary content by {len(written):,} bytes of text.")
    return ok(payload, shown, **facts)


def _sizes(data: bytes, text: str) -> dict[str, int]:
    return {"bytes": len(data), "lines": count_lines(text)}


def _lost(before: bytes | None, old: TextFile | None) -> str:
    """What is no longer as it was, where the old content was not the usual text."""
    if before is not None and old is None:
        return "The old content was binary."
    if old is not None and old.encoding == "latin-1":
        return "The file was not UTF-8 and is now."
    return ""


def _fitted(content: str, old: TextFile | None) -> tuple[str, str]:
    """The content with the line endings of the old file, and a note when that changed it."""
    text = content.removeprefix("\ufeff") if old is not None and old.mark else content
    if old is None or old.newline != "\r\n" or with_newlines(text, "\r\n") == text:
        return text, ""
    return with_newlines(text, "\r\n"), "The file's Windows line endings were kept."


def _encoded(text: str, old: TextFile | None) -> bytes:
    # A file with a byte order mark stays in its encoding; everything else becomes UTF-8.
    target = old if old is not None and old.mark else TextFile("")
    try:
        return target.encode(text)
    except UnicodeEncodeError as problem:
        raise ToolError(
            f"The content cannot be written as {target.encoding}: character {problem.start} is half a surrogate "
            "pair. Nothing was written; send the content again without it."
        ) from problem


registry.register(
    name="write_file",
    toolset="files",
    schema=SCHEMA,
    handler=write_file,
    description=DESCRIPTION,
    parallel="paths",
)
