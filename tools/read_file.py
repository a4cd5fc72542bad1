"""The tool `read_file`: a page of a file with line numbers, a document as text, an image, a directory."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import Denied, FileAccessError, FileMissing, FileRefused, ToolError
from tools.files.reading import FileReading, listing, read_any
from tools.registry import registry
from tools.result import ShownText, ToolResult, ended_with, plain

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "offset": {"type": "integer", "description": "First line, from 1", "default": 1},
        "limit": {"type": "integer", "description": "Lines to read, at most 2000", "default": 500},
    },
    "required": ["path"],
}
DESCRIPTION = (
    "Read a file (text, notebook, PDF, office document, image) or list a directory. Lines come as `N|line`; `N|` is "
    "not part of the file."
)
_MAX_ENTRIES = 200
_MAX_NEAR = 5
_MAX_SHOWN_CHARS = 5000


def read_file(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Read a page of a file, or list a directory.

    Args:
        args: path, offset, limit as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        the lines, each with its number; at the end which they are, of how many, and where to go on. Of lines that
        the model has before it already, a note instead. Of an image its format, and the image where the model sees
        images.

    Raises:
        ToolError: nothing there, not readable, or not allowed. ToolInterrupted.
    """
    ctx = require_context(kw)
    settings = ctx.settings.read
    path = arguments.path(args, ctx)
    offset = arguments.integer(args, "offset", 1) or 1
    limit = arguments.integer(args, "limit", settings.default_lines, minimum=1, maximum=settings.max_lines)
    try:
        with ctx.fs.open(path) as stream:
            reading = read_any(stream, path, offset, limit, ctx)
    except FileMissing as problem:
        raise FileMissing(f"{path} does not exist.{_near_names(path, ctx)}") from problem
    except FileRefused:
        facts = ctx.fs.stat(path)
        if facts is None or facts.kind != "directory":
            raise
        return _directory(path, offset, min(limit, _MAX_ENTRIES), ctx)
    if reading.format:
        return _image(reading, path, ctx)
    if reading.more and settings.whole and args.get("limit") is None:
        count = "" if reading.total is None else f" ({reading.total:,} lines)"
        raise ToolError(
            f"{path} is too big to be given whole{count}: nothing was read. Ask for its parts with offset and limit."
        )
    if reading.total is not None and not reading.lines and offset > 1:
        raise ToolError(f"{path} has only {reading.total} lines; line {offset} does not exist.")
    return _page(reading, path, ctx)


def _page(reading: FileReading, path: Path, ctx: ToolContext) -> ToolResult:
    last = reading.first + len(reading.lines) - 1
    facts = {"path": str(path), "line": reading.first, "last_line": last, "total_lines": reading.total}
    payload: dict[str, Any] = {"path": arguments.display(path, ctx), "total_lines": reading.total}
    if _has_before_it(reading, path, ctx):
        note = (
            f"Unchanged since you read it: lines {reading.first} to {last} are above. Call again to see them again."
        )
        return plain("", [note], {**payload, "note": note}, ShownText(note), **facts, again=True)
    notes = list(reading.notes)
    if reading.more:
        payload["next_offset"] = reading.first + len(reading.lines)
    if reading.total is None:
        notes.append("The file is too big to count its lines.")
    if reading.total == 0:
        notes.append("The file is empty.")
    if notes:
        payload["note"] = " ".join(notes)
    ending = [_range(reading, last), "" if reading.has_last_newline else "no newline at the end", *notes]
    numbered = "\n".join(f"{number}|{line}" for number, line in enumerate(reading.lines, reading.first))
    shown = ShownText(_shown(reading.lines), path.suffix.removeprefix("."))
    end = "\n" if reading.is_ended else ""
    return ToolResult(
        ended_with(numbered, ending),
        (shown,),
        facts,
        value=lambda: {**payload, "content": "\n".join(reading.lines) + end},
    )


def _range(reading: FileReading, last: int) -> str:
    """`lines 590–829 of 1437, next_offset 830`."""
    if not reading.lines:
        return ""
    of = "" if reading.total is None else f" of {reading.total}"
    return f"lines {reading.first}–{last}{of}" + (f", next_offset {last + 1}" if reading.more else "")


def _shown(lines: Sequence[str]) -> str:
    """The beginning of the lines, for the person."""
    chars, count = 0, 0
    while count < len(lines) and chars < _MAX_SHOWN_CHARS:
        chars += len(lines[count]) + 1
        count += 1
    return "\n".join(lines[:count])[:_MAX_SHOWN_CHARS]


def _has_before_it(reading: FileReading, path: Path, ctx: ToolContext) -> bool:
    """Whether the model was shown these lines; notes that it is now.

    Asked for a second time it gets them again: then they are not before it after all.
    """
    if ctx.seen is None or not reading.digest:
        return False
    last = reading.first + len(reading.lines) - 1
    known = ctx.seen.known(path)
    if reading.lines and known is not None and known.digest == reading.digest and known.shows(reading.first, last):
        ctx.seen.forget_pages(path)
        return True
    is_cut = reading.is_document or any(len(line) > ctx.settings.read.max_line_chars for line in reading.lines)
    ctx.seen.note(path, reading.digest, pages=[(reading.first, last)], total=reading.total, cut=is_cut)
    return False


def _image(reading: FileReading, path: Path, ctx: ToolContext) -> ToolResult:
    payload: dict[str, Any] = {"path": arguments.display(path, ctx), "image": reading.format}
    if reading.notes:
        payload["note"] = " ".join(reading.notes)
    result = plain("", [reading.format, *reading.notes], payload, ShownText(reading.format), path=str(path))
    return result if reading.image is None else replace(result, images=(reading.image,))


def _directory(path: Path, first: int, most: int, ctx: ToolContext) -> ToolResult:
    entries, total = listing(path, ctx, first, most)
    if not entries and first > 1:
        raise ToolError(f"{path} has only {total} entries; entry {first} does not exist.")
    content = "\n".join(entries)
    payload: dict[str, Any] = {"path": arguments.display(path, ctx), "content": content, "total_entries": total}
    ending = [f"a directory, {total} {'entry' if total == 1 else 'entries'}"]
    if first - 1 + len(entries) < total:
        end = first + len(entries)
        payload["next_offset"] = end
        payload["note"] = "A directory. search_files(target='files') finds names in it, and below it."
        ending = [
            f"a directory, entries {first}–{end - 1} of {total}, next_offset {end}",
            "search_files(target='files') finds names in it, and below it.",
        ]
    shown = ShownText(content[:_MAX_SHOWN_CHARS] or "An empty directory.")
    return plain(content, ending, payload, shown, path=str(path))


def _near_names(path: Path, ctx: ToolContext) -> str:
    folder = path.parent
    if not any(folder.is_relative_to(root) for root in ctx.roots):
        return ""  # looking there would ask the person once more
    try:
        names = ctx.fs.list(folder)
    except (FileAccessError, Denied):
        return f" Nor does the directory {folder}: use search_files(target='files') to find the file."
    by_folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(path.name.casefold(), by_folded, n=_MAX_NEAR, cutoff=0.6)
    if not near:
        return " Use search_files(target='files') to find it."
    return " Did you mean: " + ", ".join(str(folder / by_folded[name]) for name in near) + "?"


registry.register(
    name="read_file",
    toolset="files",
    schema=SCHEMA,
    handler=read_file,
    description=DESCRIPTION,
    parallel="safe",
    # A page is limited by its own settings, and must not be cut in the middle.
    max_result_size_chars=1_000_000,
)
