"""The tool `patch`: replaces a piece of text in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import require_context
from tools.errors import FileMissing, ToolError
from tools.registry import registry
from tools.result import ShownDiff, ToolResult, ok
from tools.text.diffs import compact_diff
from tools.text.encoding import TextFile, decode, with_newlines
from tools.text.matching import Region, closest_regions, line_number, occurrences
from tools.whole_file import read_whole, saved_text

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["replace"], "default": "replace"},
        "path": {"type": "string"},
        "old_string": {
            "type": "string",
            "description": "Text in the file, exact to the space; with enough lines around it to be unique",
        },
        "new_string": {"type": "string", "description": "What takes its place; '' deletes"},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence", "default": False},
    },
    "required": ["path", "old_string", "new_string"],
}
DESCRIPTION = "Change a file by replacing old_string with new_string. Returns the diff."

_GUTTER = re.compile(r"\s*\d+\|")
_MAX_LINES_TOLD = 10
_MAX_REGION_LINES = 15
_MAX_DIFFERENCES = 6
_MAX_LINE_CHARS = 300
_MAX_FACTS = 100
_MIN_TELLING_CHARS = 10


def patch(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Replace `old_string` in a file, which has to be there exactly, and once unless `replace_all`.

    Args:
        args: mode, path, old_string, new_string, replace_all as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with path, replacements and diff.

    Raises:
        ToolError: not found (what comes closest is shown), not unique, refused. ToolInterrupted.
    """
    ctx = require_context(kw)
    arguments.choice(args, "mode", ("replace",), "replace")
    path = arguments.path(args, ctx)
    old, new = arguments.text(args, "old_string"), arguments.text(args, "new_string")
    _check(old, new)
    before, file = _content(path, read_whole(path, ctx))
    old, new, note = _with_newlines_of(file, old, new)
    positions = _positions(file.text, old, new, path, replace_all=arguments.boolean(args, "replace_all"))
    after = _replaced(file.text, positions, old, new)
    data = _encoded(file, after, path)
    saved, otherwise = saved_text(ctx.fs.write(path, data, expected=before), data, after)
    payload = {
        "path": arguments.display(path, ctx),
        "replacements": len(positions),
        "diff": compact_diff(file.text, saved),
    }
    if note := " ".join(filter(None, (note, otherwise))):
        payload["note"] = note
    lines = _changed_lines(file.text, positions[:_MAX_FACTS], old, new)
    return ok(payload, ShownDiff(path, file.text, saved), path=str(path), line=lines[0], lines=lines)


def _check(old: str, new: str) -> None:
    if not old:
        raise ToolError("old_string is empty. To create a file, or to replace all of it, use write_file.")
    if old == new:
        raise ToolError("old_string and new_string are the same: there is nothing to change.")


def _content(path: Path, data: bytes | None) -> tuple[bytes, TextFile]:
    if data is None:
        raise FileMissing(f"{path} does not exist. To create it use write_file.")
    file = decode(data)
    if file is None:
        raise ToolError(f"{path} is a binary file: patch changes text only.")
    return data, file


def _with_newlines_of(file: TextFile, old: str, new: str) -> tuple[str, str, str]:
    """Both strings with the line endings that the file has, and a note when that changed them."""
    newline = file.newline
    if newline is None and old not in file.text:
        # A mixture: the piece may be in a part with Windows line endings.
        newline = "\r\n" if with_newlines(old, "\r\n") in file.text else None
    if newline is None or (newline == "\n" and old in file.text):
        return old, new, ""
    fitted = with_newlines(old, newline), with_newlines(new, newline)
    if fitted == (old, new):
        return old, new, ""
    kind = "Windows (CRLF)" if newline == "\r\n" else "Unix (LF)"
    return *fitted, f"The file's {kind} line endings were kept."


def _positions(text: str, old: str, new: str, path: Path, *, replace_all: bool) -> list[int]:
    found = occurrences(text, old)
    if not found:
        raise ToolError(_not_found(text, old, new, path))
    if replace_all:
        return _apart(found, len(old))
    if len(found) > 1:
        lines = [str(line_number(text, position)) for position in found[:_MAX_LINES_TOLD]]
        more = " …" if len(found) > _MAX_LINES_TOLD else ""
        raise ToolError(
            f"old_string is in {path} {len(found)} times (lines {', '.join(lines)}{more}). Nothing was changed. "
            "Add lines around it until it is unique, or set replace_all."
        )
    return found


def _apart(positions: list[int], length: int) -> list[int]:
    kept: list[int] = []
    for position in positions:
        if not kept or position >= kept[-1] + length:
            kept.append(position)
    return kept


def _replaced(text: str, positions: list[int], old: str, new: str) -> str:
    parts: list[str] = []
    end = 0
    for position in positions:
        parts += [text[end:position], new]
        end = position + len(old)
    return "".join([*parts, text[end:]])


def _changed_lines(text: str, positions: list[int], old: str, new: str) -> list[int]:
    """The first line of each replacement, numbered as in the new text."""
    growth = new.count("\n") - old.count("\n")
    return [line_number(text, position) + index * growth for index, position in enumerate(positions)]


def _encoded(file: TextFile, text: str, path: Path) -> bytes:
    try:
        return file.encode(text)
    except UnicodeEncodeError as problem:
        raise ToolError(
            f"new_string holds {text[problem.start]!r}, which {path} cannot hold: it is {file.encoding}. "
            "Nothing was changed. Use other characters, or write_file to make the file UTF-8."
        ) from problem


def _not_found(text: str, old: str, new: str, path: Path) -> str:
    message = f"old_string is not in {path}. Nothing was changed."
    written = [line for line in old.splitlines() if line.strip()]
    if written and all(map(_GUTTER.match, written)):
        return f"{message} It seems to hold the line numbers that read_file puts before `|`: leave them out."
    if len(new.strip()) > _MIN_TELLING_CHARS and new in text:
        line = line_number(text, text.index(new))
        message += f" But new_string is there already, at line {line}: perhaps the change was made before."
    regions = closest_regions(text, old)
    if not regions:
        return f"{message} Nothing in the file resembles it: read the file again."
    shown = "\n\n".join(_described(region) for region in regions)
    return f"{message} The closest:\n\n{shown}\n\nSend old_string again exactly as the file has it."


def _described(region: Region) -> str:
    lines = [
        f"{number}|{line[:_MAX_LINE_CHARS]}"
        for number, line in enumerate(region.lines[:_MAX_REGION_LINES], region.first)
    ]
    if hidden := len(region.lines) - len(lines):
        lines.append(f"[… {hidden} more lines]")
    told = [f"- {difference}" for difference in region.differences[:_MAX_DIFFERENCES]]
    if hidden := len(region.differences) - len(told):
        told.append(f"- and {hidden} more differences")
    return "\n".join([*lines, *told])


registry.register(
    name="patch", toolset="files", schema=SCHEMA, handler=patch, description=DESCRIPTION, parallel="paths"
)
