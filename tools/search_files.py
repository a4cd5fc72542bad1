"""The tool `search_files`: find text in files, or files by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import SearchHit, SearchQuery, SearchResult, ToolContext, require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ToolResult

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regex for content; glob (*.py, src/**/*.ts) for files"},
        "target": {"type": "string", "enum": ["content", "files"], "default": "content"},
        "path": {"type": "string", "description": "Directory or file", "default": "."},
        "file_glob": {"type": "string", "description": "Only files whose path matches"},
        "limit": {"type": "integer", "default": 50},
        "offset": {"type": "integer", "description": "Results to skip", "default": 0},
        "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "default": "content"},
        "context": {"type": "integer", "description": "Lines around each match", "default": 0},
    },
    "required": ["pattern"],
}
DESCRIPTION = (
    "Search file contents by regex (target=content), or file names by glob, newest first (target=files). "
    "Obeys .gitignore. Prefer it to grep and find."
)
_MAX_CONTEXT = 50
_MAX_LOCATIONS = 20


def search_files(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Search below a path.

    Args:
        args: as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        text: a line with the total, then the hits grouped by file, then where to go on.

    Raises:
        ToolError: a bad pattern, a path that is not there, no ripgrep. ToolInterrupted.
    """
    ctx = require_context(kw)
    query = _query(args, ctx)
    result = ctx.fs.search(query)
    text = _told(result, query, ctx) if result.hits else _nothing(result, query, ctx)
    facts = {"path": str(query.path), "total": result.total, "locations": _locations(result.hits)}
    return ToolResult(text, facts=facts)


def _query(args: Mapping[str, Any], ctx: ToolContext) -> SearchQuery:
    pattern = arguments.text(args, "pattern")
    if not pattern:
        raise ToolError("The argument 'pattern' is empty; say what to search for ('*' lists all files).")
    target = arguments.choice(args, "target", ("content", "files"), "content")
    output = arguments.choice(args, "output_mode", ("content", "files_only", "count"), "content")
    return SearchQuery(
        pattern=_as_glob(pattern) if target == "files" else pattern,
        path=arguments.path(args, ctx, default="."),
        target="files" if target == "files" else "content",
        glob=arguments.text(args, "file_glob", "") or None,
        output="count" if output == "count" else "files_only" if output == "files_only" else "content",
        limit=arguments.integer(args, "limit", 50, minimum=1, maximum=ctx.settings.search.max_results),
        offset=arguments.integer(args, "offset", 0),
        context=arguments.integer(args, "context", 0, maximum=_MAX_CONTEXT),
    )


def _as_glob(pattern: str) -> str:
    # A bare word is meant as a part of the name.
    return pattern if any(char in pattern for char in "*?[{/!") else f"*{pattern}*"


def _told(result: SearchResult, query: SearchQuery, ctx: ToolContext) -> str:
    shown = sum(hit.is_match for hit in result.hits)
    head = f"{result.total} {_unit(query, result.total)}"
    if query.offset or result.truncated:
        head += f", {query.offset + 1}–{query.offset + shown} shown"
    parts = [f"{head}:", *_bodies(result.hits, query, ctx)]
    if result.truncated:
        parts.append(f"[more: offset={query.offset + shown}]")
    if result.skipped:
        parts.append(f"[{result.skipped} files left out: they may hold credentials]")
    return "\n".join(parts)


def _bodies(hits: Sequence[SearchHit], query: SearchQuery, ctx: ToolContext) -> list[str]:
    if query.target == "files" or query.output == "files_only":
        return [arguments.display(hit.path, ctx) for hit in hits]
    if query.output == "count":
        return [f"{arguments.display(hit.path, ctx)}: {hit.count}" for hit in hits]
    bodies: list[str] = []
    for path, group in groupby(hits, key=lambda hit: hit.path):
        bodies += [arguments.display(path, ctx), *_lines(list(group), separated=query.context > 0)]
    return bodies


def _lines(hits: Sequence[SearchHit], *, separated: bool) -> list[str]:
    lines: list[str] = []
    last = 0
    for hit in hits:
        if separated and last and hit.line > last + 1:
            lines.append("--")
        lines.append(f"{hit.line}{':' if hit.is_match else '-'}{hit.text}")
        last = hit.line
    return lines


def _unit(query: SearchQuery, count: int) -> str:
    if query.target == "content" and query.output == "content":
        return "match" if count == 1 else "matches"
    return "file" if count == 1 else "files"


def _nothing(result: SearchResult, query: SearchQuery, ctx: ToolContext) -> str:
    where = arguments.display(query.path, ctx)
    if result.total:
        found = f"{result.total} {_unit(query, result.total)}"
        return f"There are only {found}; offset {query.offset} is behind the last."
    of = f" in files {query.glob}" if query.glob else ""
    what = "No file is named" if query.target == "files" else "No match for"
    return (
        f"{what} {query.pattern!r}{of} below {where}. "
        "(Not searched: what .gitignore names, binary files, files that may hold credentials.)"
    )


def _locations(hits: Sequence[SearchHit]) -> list[dict[str, Any]]:
    seen: dict[Path, int] = {}
    for hit in hits:
        if hit.is_match:
            seen.setdefault(hit.path, hit.line)
    return [{"path": str(path), "line": line or 1} for path, line in list(seen.items())[:_MAX_LOCATIONS]]


registry.register(
    name="search_files",
    toolset="files",
    schema=SCHEMA,
    handler=search_files,
    description=DESCRIPTION,
    parallel="safe",
)
