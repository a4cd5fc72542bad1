"""The tool `read_file`: a page of a text file with line numbers."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import Denied, FileAccessError, FileMissing, FileRefused, ToolError
from tools.registry import registry
from tools.result import ShownText, ToolResult, ok
from tools.text.pages import NotText, Page, read_page

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
    "Read a text file. Each line comes as `N|line`: the number and the bar are not part of the file. "
    "`next_offset` tells where to go on."
)
_MAX_NAMES = 50
_MAX_NEAR = 5
_MAX_SHOWN_CHARS = 5000


def read_file(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Read a page of a text file.

    Args:
        args: path, offset, limit as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with path, content, total_lines and, when there is more, next_offset.

    Raises:
        ToolError: nothing there, not a text file, or not allowed. ToolInterrupted.
    """
    ctx = require_context(kw)
    settings = ctx.settings.read
    path = arguments.path(args, ctx)
    offset = arguments.integer(args, "offset", 1) or 1
    limit = arguments.integer(args, "limit", settings.default_lines, minimum=1, maximum=settings.max_lines)
    page = _page(path, offset, limit, ctx)
    if page.total is not None and not page.lines and offset > 1:
        raise ToolError(f"{path} has only {page.total} lines; line {offset} does not exist.")
    shown = "\n".join(page.lines)[:_MAX_SHOWN_CHARS]
    language = path.suffix.removeprefix(".")
    return ok(_payload(page, path, ctx), ShownText(shown, language), path=str(path), line=offset)


def _page(path: Path, offset: int, limit: int, ctx: ToolContext) -> Page:
    try:
        with ctx.fs.open(path) as stream:
            return read_page(stream, offset, limit, ctx.settings.read)
    except FileMissing as problem:
        raise FileMissing(f"{path} does not exist.{_near_names(path, ctx)}") from problem
    except FileRefused as problem:
        raise FileRefused(_names_of_directory(path, ctx) or str(problem)) from problem
    except NotText as problem:
        raise ToolError(
            f"{path} cannot be shown as text: {problem}. To look inside use the terminal (`file`, `xxd | head`, "
            "`strings`, or a program made for this kind of file)."
        ) from problem


def _payload(page: Page, path: Path, ctx: ToolContext) -> dict[str, Any]:
    content = "\n".join(f"{number}|{line}" for number, line in enumerate(page.lines, page.first))
    payload: dict[str, Any] = {"path": arguments.display(path, ctx), "content": content, "total_lines": page.total}
    notes: list[str] = []
    if page.more:
        payload["next_offset"] = page.first + len(page.lines)
    if page.total is None:
        notes.append("The file is too big to count its lines.")
    if page.total == 0:
        notes.append("The file is empty.")
    if page.encoding != "utf-8":
        notes.append(f"Not UTF-8: decoded as {page.encoding}.")
    if notes:
        payload["note"] = " ".join(notes)
    return payload


def _names_of_directory(path: Path, ctx: ToolContext) -> str | None:
    facts = ctx.fs.stat(path)
    if facts is None or facts.kind != "directory":
        return None
    names = ctx.fs.list(path)
    listed = ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if names[_MAX_NAMES:] else "")
    return (
        f"{path} is a directory. It holds: {listed or 'nothing'}. "
        "Read one of the files, or use search_files(target='files') to list deeper."
    )


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
    # A page is limited by its own settings; JSON's escapes must not get it cut in the middle.
    max_result_size_chars=1_000_000,
)
