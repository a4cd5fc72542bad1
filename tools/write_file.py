"""The tool `write_file`: a file's whole new content."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import FileChanged, ToolInterrupted
from tools.files.reading import encoded, read_whole, saved_text
from tools.files.seen import digest_of
from tools.registry import registry
from tools.result import Shown, ShownDiff, ShownText, ToolResult, plain
from tools.text.encoding import TextFile, count_lines, decode, odd_bytes_in, with_newlines

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}
DESCRIPTION = (
    "Create a file or replace its whole content; missing directories are made. To change a part of a file use patch."
)


def write_file(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Create a file or replace all of it, keeping the encoding, line endings and byte order mark that it has.

    Args:
        args: path, content as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        what was done (created, replaced, unchanged), with lines and bytes; and problems, where what was written is no
        correct JSON, Python, ….

    Raises:
        ToolError: the model has not read what it would replace, or the content leaves out what it only names, or it
            was refused, or is not possible.
        ToolInterrupted.
    """
    ctx = require_context(kw)
    path = arguments.path(args, ctx)
    content = arguments.text(args, "content")
    before = read_whole(path, ctx)
    old = None if before is None else decode(before)
    text, newline_note = _fitted(content, old)
    data = encoded(path, old or TextFile(""), text, ctx)
    facts = {"path": str(path), "line": 1}
    payload: dict[str, Any] = {"path": arguments.display(path, ctx)}
    if data == before:
        _note_written(path, data, ctx)
        note = "The file has this content already."
        payload |= {"status": "unchanged", **_sizes(data, text), "note": note}
        return plain("", [_said(payload), note], payload, ShownText(note), status="unchanged", **facts)
    partly = _check_known(path, before, old, ctx)
    _check_losses(path, old, text, ctx)
    written = ctx.fs.write(path, data, expected=before)
    text, otherwise = saved_text(written, data, text)
    if not otherwise:
        _note_written(path, written, ctx)
    payload |= {"status": "created" if before is None else "replaced", **_sizes(written, text)}
    binary = "The old content was binary." if before is not None and old is None else ""
    if note := " ".join(filter(None, (newline_note, _encoding_note(old, text, data), binary, partly, otherwise))):
        payload["note"] = note
    # The file is written: a cancel now must not make that unsaid.
    with contextlib.suppress(ToolInterrupted):
        from tools.files.diagnostics import new_problems  # noqa: PLC0415 - parsers are for those who edit

        if problems := new_problems(path, None if old is None else old.text, text, ctx):
            payload["problems"] = problems
    body = f"Problems in what was written:\n{payload['problems']}" if "problems" in payload else ""
    shown: Shown = ShownDiff(path, None if old is None else old.text, text)
    if before is not None and old is None:
        shown = ShownText(f"Replaced {len(before):,} bytes of binary content by {len(written):,} bytes of text.")
    return plain(body, [_said(payload), note], payload, shown, status=payload["status"], **facts)


def _check_known(path: Path, before: bytes | None, old: TextFile | None, ctx: ToolContext) -> str:
    """A note where the model has read only a part of what it replaces.

    Raises:
        FileChanged: it has read nothing of it, or something else than what is there now.
    """
    if not before or ctx.seen is None:
        return ""
    known = ctx.seen.known(path)
    if known is None and old is None:
        raise FileChanged(
            f"{path} exists and is no text that you could have read: nothing was written. If it may really go, "
            "remove it first; else write to another path."
        )
    if old is None:
        raise FileChanged(
            f"{path} is no text file: what you read was made of it, and text in its place would destroy it. Nothing "
            "was written. Write to another path, change it with a program made for it, or remove it first."
        )
    if known is None:
        raise FileChanged(
            f"{path} exists, and you have not read it: nothing was written. Read it first with read_file, or change "
            "a part of it with patch."
        )
    if known.digest != digest_of(before):
        raise FileChanged(
            f"{path} has changed since you read it: nothing was written. Read it again with read_file, and keep what "
            "others changed."
        )
    return "" if known.whole else "You had read only a part of the content that this replaced."


def _check_losses(path: Path, old: TextFile | None, text: str, ctx: ToolContext) -> None:
    if old is None or not old.text:
        return
    from tools.files.losses import check_elisions, check_unread  # noqa: PLC0415 - for what is replaced only

    name = arguments.display(path, ctx)
    check_elisions(name, path, old.text, text, whole=True)
    if ctx.seen is not None:
        check_unread(name, path, old.text, text, ctx.seen.known(path))


def _note_written(path: Path, data: bytes, ctx: ToolContext) -> None:
    if ctx.seen is not None:
        ctx.seen.note(path, digest_of(data), whole=True)


def _said(payload: Mapping[str, Any]) -> str:
    """`created NOTES.md: 10 lines, 254 bytes`."""
    lines = "1 line" if payload["lines"] == 1 else f"{payload['lines']} lines"
    return f"{payload['status']} {payload['path']}: {lines}, {payload['bytes']} bytes"


def _sizes(data: bytes, text: str) -> dict[str, int]:
    return {"bytes": len(data), "lines": count_lines(text)}


def _fitted(content: str, old: TextFile | None) -> tuple[str, str]:
    """The content with the line endings of the old file, and a note when that changed it."""
    text = content.removeprefix("\ufeff") if old is not None and old.mark else content
    if old is None or old.newline != "\r\n" or with_newlines(text, "\r\n") == text:
        return text, ""
    return with_newlines(text, "\r\n"), "The file's Windows line endings were kept."


def _encoding_note(old: TextFile | None, text: str, data: bytes) -> str:
    """What the model should know of how its content was encoded."""
    if old is None:
        return ""
    if old.has_odd_bytes:
        gone = odd_bytes_in(old.text) - odd_bytes_in(data.decode("utf-8", "surrogateescape"))
        return f"{gone} of the bytes that were not UTF-8 {'is' if gone == 1 else 'are'} gone." if gone > 0 else ""
    return "" if text.isascii() else old.kept_note


registry.register(
    name="write_file",
    toolset="files",
    schema=SCHEMA,
    handler=write_file,
    description=DESCRIPTION,
    parallel="paths",
)
