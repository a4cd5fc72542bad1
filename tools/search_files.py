"""The tool `search_files`: find text in files, or files by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import PatternRejected, ToolError
from tools.light_dataclass import dataclass
from tools.ports import SearchHit, SearchQuery, SearchResult
from tools.registry import registry
from tools.result import ToolResult
from tools.text.globs import split

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regex; for files a glob (*.py, src/**/*.ts)"},
        "target": {"type": "string", "enum": ["content", "files"]},
        "path": {"type": "string", "default": "."},
        "file_glob": {"type": "string", "description": "Only these files; !x: others"},
        "type": {"type": "string", "description": "py, js, rust …, as rg"},
        "limit": {"type": "integer", "default": 50},
        "offset": {"type": "integer"},
        "output_mode": {"type": "string", "enum": ["content", "files_only", "count"]},
        "context": {"type": "integer", "description": "Lines around"},
        "fixed": {"type": "boolean", "description": "Not a regex"},
        "ignore_case": {"type": "boolean"},
        "multiline": {"type": "boolean", "description": ". spans lines"},
        "include_ignored": {"type": "boolean"},
    },
    "required": ["pattern"],
}
DESCRIPTION = (
    "Search file contents, or file names (target=files, newest first). Obeys .gitignore. Prefer it to grep and find "
    "in terminal."
)
_MAX_CONTEXT = 50
_MAX_LOCATIONS = 20
# What models say besides ripgrep's own names.
_KINDS = {
    "javascript": "js", "jsx": "js", "mjs": "js", "tsx": "ts", "golang": "go", "rs": "rust", "kt": "kotlin",
    "yml": "yaml", "rb": "ruby", "c++": "cpp", "bash": "sh", "shell": "sh", "text": "txt", "htm": "html", "pyi": "py",
}  # fmt: skip


def search_files(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Search below a path.

    Args:
        args: as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        text: a line with the total, then the hits grouped by file, then where to go on.

    Raises:
        ToolError: a bad glob, a path that is not there, nothing found in time. ToolInterrupted.
    """
    ctx = require_context(kw)
    query, note = _query(args, ctx), ""
    try:
        result = ctx.fs.search(query)
    except PatternRejected as problem:
        note = f"[searched as fixed text: the pattern is no regular expression{problem.why and f' ({problem.why})'}]"
        query = replace(query, fixed=True)
        result = ctx.fs.search(query)
    text = _told(result, query, ctx) if result.hits else _nothing(result, query, ctx)
    facts = {"path": str(query.path), "total": result.total, "locations": _locations(result.hits)}
    return ToolResult(
        f"{text}\n{note}" if note else text, facts=facts, value=lambda: _found(result, query, ctx, note)
    )


def _query(args: Mapping[str, Any], ctx: ToolContext) -> SearchQuery:
    pattern = arguments.text(args, "pattern")
    if not pattern:
        raise ToolError("The argument 'pattern' is empty; say what to search for ('*' lists all files).")
    target = arguments.choice(args, "target", ("content", "files"), "content")
    output = arguments.choice(args, "output_mode", ("content", "files_only", "count"), "content")
    path = arguments.path(args, ctx, default=".")
    if target == "files":
        path, pattern = located(",".join(map(_as_glob, split(pattern))), path, ctx)
    path, glob = located(arguments.text(args, "file_glob", ""), path, ctx)
    return SearchQuery(
        pattern=pattern,
        path=path,
        target="files" if target == "files" else "content",
        glob=glob or None,
        output="count" if output == "count" else "files_only" if output == "files_only" else "content",
        limit=arguments.integer(args, "limit", 50, minimum=1, maximum=ctx.settings.search.max_results),
        offset=arguments.integer(args, "offset", 0),
        context=arguments.integer(args, "context", 0, maximum=_MAX_CONTEXT),
        type=_kind(args),
        fixed=arguments.boolean(args, "fixed"),
        ignore_case=arguments.boolean(args, "ignore_case"),
        multiline=arguments.boolean(args, "multiline"),
        include_ignored=arguments.boolean(args, "include_ignored"),
    )


def _kind(args: Mapping[str, Any]) -> str | None:
    kind = arguments.text(args, "type", "").strip().lower().removeprefix(".")
    return _KINDS.get(kind, kind) or None


def _as_glob(pattern: str) -> str:
    # A bare word is meant as a part of the name.
    return pattern if any(char in pattern for char in "*?[{/!") else f"*{pattern}*"


def _told(result: SearchResult, query: SearchQuery, ctx: ToolContext) -> str:
    end = query.offset + result.shown
    head = f"{result.total} {_unit(query, result.total)}"
    if result.partial:
        head = f"Stopped when the time was over, after {head}"
    if query.offset or result.truncated:
        head += f", {query.offset + 1}–{end} shown"
    parts = [f"{head}:", *_bodies(result.hits, query, ctx)]
    if result.truncated:
        parts.append(f"[more: offset={end}]")
    if result.partial:
        parts.append("[the search is not complete: name a deeper path or a narrower file_glob]")
    return "\n".join([*parts, *_left_out(result)])


def _found(result: SearchResult, query: SearchQuery, ctx: ToolContext, note: str) -> dict[str, Any]:
    """The hits as values, for programs."""
    found: dict[str, Any] = {"total": result.total}
    if query.target == "files" or query.output == "files_only":
        found["files"] = [arguments.display(hit.path, ctx) for hit in result.hits]
    elif query.output == "count":
        found["counts"] = {arguments.display(hit.path, ctx): hit.count for hit in result.hits}
    else:
        found["matches"] = [
            {"path": arguments.display(hit.path, ctx), "line": hit.line, "text": hit.text, "is_match": hit.is_match}
            for hit in result.hits
        ]
    if result.truncated:
        found["next_offset"] = query.offset + result.shown
    partial = "The search is not complete: it took too long." if result.partial else ""
    if notes := [*filter(None, (note, partial)), *_left_out(result)]:
        found["note"] = " ".join(notes)
    return found


def _left_out(result: SearchResult) -> list[str]:
    notes = []
    if result.skipped:
        what = "1 file" if result.skipped == 1 else f"{result.skipped} files"
        notes.append(f"[{what} left out: may hold credentials]")
    if result.unreadable:
        what = "1 file or directory" if result.unreadable == 1 else f"{result.unreadable} files or directories"
        notes.append(f"[{what} not searched: no permission to read]")
    if result.note:
        notes.append(f"[{result.note}]")
    return notes


def _bodies(hits: Sequence[SearchHit], query: SearchQuery, ctx: ToolContext) -> list[str]:
    if query.target == "files" or query.output == "files_only":
        return [arguments.display(hit.path, ctx) for hit in hits]
    if query.output == "count":
        return [f"{arguments.display(hit.path, ctx)}: {hit.count}" for hit in hits]
    bodies: list[str] = []
    separated = query.context > 0 or query.multiline
    for path, group in groupby(hits, key=lambda hit: hit.path):
        bodies += [arguments.display(path, ctx), *_lines(list(group), separated=separated)]
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
    if result.partial:
        raise ToolError(f"Time ran out before a name like {query.pattern!r} was found below {where}: go deeper.")
    of = f" in files {query.glob}" if query.glob else ""
    of += f" of type {query.type}" if query.type else ""
    what = "No file is named" if query.target == "files" else "No match for"
    not_searched = "binary files, files that may hold credentials"
    if not query.include_ignored:
        not_searched = f"what .gitignore names, {not_searched}"
    found = f"{what} {query.pattern!r}{of} below {where}."
    return " ".join([found, f"(Not searched: {not_searched}.)", *_left_out(result)])


def _locations(hits: Sequence[SearchHit]) -> list[dict[str, Any]]:
    seen: dict[Path, int] = {}
    for hit in hits:
        if hit.is_match:
            seen.setdefault(hit.path, hit.line)
    return [{"path": str(path), "line": line or 1} for path, line in list(seen.items())[:_MAX_LOCATIONS]]


# What a person means by the globs of a search: several with commas between them, from a place of their own.
# `*.ts,*.tsx` are two globs, `./*.ts` is one from where the search begins; `/home/me/src/**/*.ts` and `~/src/*.ts`
# begin elsewhere. Which names go before a pattern is `tools.text.globs.settled`'s to say.

_OF_PATTERNS = re.compile(r"[*?\[{\\]")


@dataclass(frozen=True, slots=True)
class _Part:
    """One glob; `place` is where it begins, if that is not below where the search does."""

    glob: str
    excludes: bool
    place: Path | None = None


def located(text: str, base: Path, ctx: ToolContext) -> tuple[Path, str]:
    """Where a search below `base` for these globs begins, and the globs as they are seen from there.

    Raises:
        ToolError: they begin in several places.
    """
    if not text:
        return base, text
    parts = [_part(written, base, ctx) for written in split(text)]
    places = [part.place for part in parts if part.place is not None]
    if places:
        if any(part.place is None and not part.excludes for part in parts):
            raise ToolError(f"Not all of {text!r} is below {base}: search for these one after the other.")
        base = Path(os.path.commonpath(places))
    return base, ",".join(("!" if part.excludes else "") + _seen_from(base, part) for part in parts)


def _part(written: str, base: Path, ctx: ToolContext) -> _Part:
    excludes = written.startswith("!")
    glob = written.removeprefix("!")
    if glob.endswith("/"):
        glob += "**"
    if glob.startswith("~/"):
        return _absolute(str(ctx.resolve("~")) + glob[1:], base, excludes=excludes)
    if ".." in _fixed(glob)[0].split("/"):
        return _absolute(os.path.normpath(os.path.join(base, glob)), base, excludes=excludes)  # noqa: PTH118 - a glob
    if glob.startswith("./"):
        return _Part(re.sub(r"\A(?:\./+)+", "/", glob), excludes)
    if glob.startswith("/") and not _is_from_base(glob, base, ctx):
        return _absolute(glob, base, excludes=excludes)
    return _Part(glob, excludes)


def _is_from_base(glob: str, base: Path, ctx: ToolContext) -> bool:
    """Whether a slash in front means the base, as in `.gitignore`: what comes first is there, or is a pattern."""
    if glob.startswith(f"{str(base).rstrip('/')}/"):
        return False
    first = glob[1:].partition("/")[0]
    return _OF_PATTERNS.search(first) is not None or "/" not in glob[1:] or ctx.fs.stat(base / first) is not None


def _absolute(glob: str, base: Path, *, excludes: bool) -> _Part:
    folder, rest = _fixed(glob)
    if Path(folder).is_relative_to(base):
        return _Part(f"/{os.path.relpath(folder, base)}/{rest}".replace("/./", "/"), excludes)
    return _Part(f"/{rest}", excludes, None if excludes else Path(folder))


def _fixed(glob: str) -> tuple[str, str]:
    """The folder before the first sign of a pattern, and the rest; the last name always belongs to the rest."""
    parts = glob.split("/")
    first = next((at for at, part in enumerate(parts) if _OF_PATTERNS.search(part)), len(parts) - 1)
    return "/".join(parts[:first]) or ("/" if glob.startswith("/") else ""), "/".join(parts[first:])


def _seen_from(base: Path, part: _Part) -> str:
    if part.place is None or part.place == base:
        return part.glob
    return f"/{part.place.relative_to(base)}{part.glob}"


registry.register(
    name="search_files",
    toolset="files",
    schema=SCHEMA,
    handler=search_files,
    description=DESCRIPTION,
    parallel="safe",
)
