"""The tool `repo_map`: a ranked outline of the workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tools import arguments
from tools.context import ToolContext, require_context
from tools.errors import ToolError, install_line
from tools.outline.languages import can_map
from tools.ports import real_path
from tools.registry import registry
from tools.result import ShownText, ToolResult

if TYPE_CHECKING:
    from tools.outline.parsing import Collected
    from tools.outline.ranking import Ranked, Telling

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "focus": {"type": "array", "items": {"type": "string"}, "description": "Names or paths that matter"},
        "max_tokens": {"type": "integer", "default": 1500},
    },
}
DESCRIPTION = "Outline of a code tree or file: what matters most, as `line|signature`."

_MIN_TOKENS = 100
_MAX_TOKENS = 20_000
_MAX_FOCUS = 50
_MAX_FOLDERS = 8


def repo_map(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Outline the source files below a path.

    Args:
        args: path; focus (words); max_tokens (100 to 20,000), as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        text: what there is, then a paragraph for each file with its definitions, then what was left out and why.

    Raises:
        ToolError: the path is not there, may not be read, or is outside the workspace. ToolInterrupted.
    """
    from tools.outline.parsing import collect  # noqa: PLC0415 - not at the start of the program
    from tools.outline.ranking import rank, tell  # noqa: PLC0415

    ctx = require_context(kw)
    root = _root(arguments.path(args, ctx, default="."), ctx)
    focus = _focus(args.get("focus", ()), ctx, root)
    budget = arguments.integer(args, "max_tokens", 1500, minimum=_MIN_TOKENS, maximum=_MAX_TOKENS)
    collected = collect(root, ctx)
    outlines = {_below(root, path): outline for path, outline in collected.outlines.items()}
    ranked = rank(outlines, focus, _seen(ctx, root))
    told = tell(ranked, budget)
    if not told.files:
        return ToolResult(_nothing(collected, root), facts={"path": str(root), "files": 0})
    notes = [*_notes(collected, ranked, told), *_not_found(focus, ranked)]
    text = "\n".join([_head(ranked, told, root, ctx), told.text, *notes])
    facts = {"path": str(root), "files": told.files, "definitions": told.definitions, "parsed": collected.parsed}
    return ToolResult(text, (ShownText(text, ""),), facts)


def _root(path: Path, ctx: ToolContext) -> Path:
    # Elsewhere each file would be asked about.
    real = real_path(ctx.fs, path)
    if any(real.is_relative_to(real_path(ctx.fs, root)) for root in ctx.roots):
        return path
    raise ToolError(
        f"{path} is outside the workspace, which alone can be mapped. Look at it with search_files and read_file."
    )


def _focus(given: Sequence[str], ctx: ToolContext, root: Path) -> list[str]:
    """The words of the focus; paths become relative to the root, as the files are."""
    words = [word for each in given for word in each.replace(",", " ").split()]
    found = []
    for word in words[:_MAX_FOCUS]:
        if "/" in word and "\0" not in word:
            path = ctx.resolve(word)
            word = path.relative_to(root).as_posix() if path != root and path.is_relative_to(root) else word  # noqa: PLW2901
        found.append(word)
    return found


def _seen(ctx: ToolContext, root: Path) -> set[PurePath]:
    if ctx.seen is None:
        return set()
    real = real_path(ctx.fs, root)
    return {path.relative_to(real) for path in ctx.seen.paths() if path != real and path.is_relative_to(real)}


def _below(root: Path, path: Path) -> PurePath:
    return PurePath(path.name) if path == root else path.relative_to(root)


def _head(ranked: Sequence[Ranked], told: Telling, root: Path, ctx: ToolContext) -> str:
    total = sum(len(file.outline.definitions) for file in ranked)
    head = f"{arguments.display(root, ctx)}: {told.definitions} of {total} definitions in {_files(len(ranked))}"
    folders = Counter(file.path.parts[0] for file in ranked if len(file.path.parts) > 1)
    if len(folders) > 1:
        named = [f"{name}/ {count}" for name, count in folders.most_common(_MAX_FOLDERS)]
        head += f" ({', '.join(named)}{', …' if len(folders) > _MAX_FOLDERS else ''})"
    return f"{head}, the files that matter most first."


def _notes(collected: Collected, ranked: Sequence[Ranked], told: Telling) -> list[str]:
    notes = []
    left = sum(bool(file.outline.definitions) for file in ranked) - told.files
    if left > 0:
        notes.append(f"{_files(left)} more: name a path, a focus or more max_tokens")
    if collected.unread:
        notes.append(f"{_files(collected.unread)} not looked at in time: call again to go on, or name a deeper path")
    return [f"[{note}]" for note in (*notes, *_left_out(collected))]


def _not_found(focus: Sequence[str], ranked: Sequence[Ranked]) -> list[str]:
    from tools.outline.ranking import focus_words  # noqa: PLC0415 - not at the start of the program

    paths = [file.path for file in ranked]
    known = {each.name.lower() for file in ranked for each in file.outline.definitions}
    known |= {name.lower() for file in ranked for name in (*file.outline.references, *file.outline.members)}
    known |= {path.as_posix().lower() for path in paths}
    missing = [word for word in focus_words(focus, paths) if not any(word.rstrip("/") in name for name in known)]
    if not missing:
        return []
    named = ", ".join(missing[:_MAX_FOLDERS])
    return [f"[nothing is named {named} (what is defined in functions is not in the map): use search_files]"]


def _left_out(collected: Collected) -> list[str]:
    notes = []
    if collected.skipped:
        notes.append(f"{_files(collected.skipped)} left out: too big, or not readable")
    if collected.missing:
        named = ", ".join(f"{name} {count}" for name, count in collected.missing.most_common())
        notes.append(f"left out, no grammar installed: {named}; {install_line('map')}")
    return notes


def _nothing(collected: Collected, root: Path) -> str:
    reasons = "".join(f" [{note}]" for note in _left_out(collected))
    if collected.unread:
        return f"There was no time for {_files(collected.unread)} below {root}. Call again, or name a deeper path."
    return f"No definitions in {_files(collected.found)} of source below {root}.{reasons} Use search_files instead."


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _can_map() -> bool:
    return can_map()


registry.register(
    name="repo_map",
    toolset="code",
    schema=SCHEMA,
    handler=repo_map,
    description=DESCRIPTION,
    check_fn=_can_map,
    parallel="safe",
)
