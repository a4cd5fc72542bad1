"""A linked directory as a list of names."""

from __future__ import annotations

import os
from pathlib import Path

from acp_adapter.links.words import one_line, shown_path
from tools.approval.sensitive import why_sensitive
from tools.context import ToolContext
from tools.errors import Denied, FileAccessError


def listed(path: Path, ctx: ToolContext, most: int) -> tuple[str, str]:
    """The first `most` names of a directory, sorted, one a line, directories with a slash; and a note, '' for none.

    Raises:
        Denied, FileAccessError: it cannot be looked at. ToolInterrupted.
    """
    names = ctx.fs.list(path)
    roots = tuple(Path(os.path.realpath(root)) for root in ctx.roots)
    lines = [one_line(shown_path(Path(name))) + _mark(path / name, roots, ctx) for name in names[:most]]
    notes = []
    if not names:
        notes.append("The directory is empty.")
    if len(names) > most:
        notes.append(f"Shown are {most} of {len(names):,} names; search_files(target='files') finds the others.")
    if not _is_inside(Path(os.path.realpath(path)), roots):
        notes.append("It is outside the session's directories: which names are directories is not told.")
    return "\n".join(lines), " ".join(notes)


def _mark(path: Path, roots: tuple[Path, ...], ctx: ToolContext) -> str:
    real = Path(os.path.realpath(path))
    # A look at what is sensitive or elsewhere would ask the person once more, for each name.
    if why_sensitive(real) or not _is_inside(real, roots):
        return ""
    try:
        facts = ctx.fs.stat(path)
    except (Denied, FileAccessError):
        return ""
    return "/" if facts is not None and facts.kind == "directory" else ""


def _is_inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)
