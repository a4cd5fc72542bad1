"""A directory as a short list for the model: names, with sizes of files and a slash behind directories."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from tools.approval.sensitive import why_sensitive
from tools.context import ToolContext
from tools.environments.resolving import real_path
from tools.errors import Denied, FileAccessError
from tools.ports import FileStat

_KIB = 1024
_MOST_LOOKS = 100


def listing(path: Path, ctx: ToolContext, first: int, most: int) -> tuple[list[str], int]:
    """The entries of a directory from number `first` (1-based) on, at most `most`, and how many there are.

    What would ask the person for its own sake (keys, places elsewhere) has its name alone.

    Raises:
        Denied, FileAccessError: it cannot be looked at. ToolInterrupted.
    """
    names = ctx.fs.list(path)
    roots = tuple(real_path(ctx.fs, root) for root in ctx.roots)
    window = names[first - 1 : first - 1 + most]
    # Each look at another machine takes a way there and back.
    looked = len(window) if not ctx.elsewhere else _MOST_LOOKS
    facts = [_facts(path / name, roots, ctx) for name in window[:looked]]
    return [_entry(name, known) for name, known in zip_longest(window, facts)], len(names)


def _facts(path: Path, roots: tuple[Path, ...], ctx: ToolContext) -> FileStat | None:
    real = real_path(ctx.fs, path)
    if why_sensitive(real) or not any(real.is_relative_to(root) for root in roots):
        return None
    try:
        return ctx.fs.stat(path)
    except (Denied, FileAccessError):
        return None


def _entry(name: str, facts: FileStat | None) -> str:
    # A name may hold line breaks, and bytes that are no text.
    shown = name.encode("utf-8", "backslashreplace").decode()
    shown = shown if shown.isprintable() else repr(shown)
    if facts is None:
        return shown
    match facts.kind:
        case "directory":
            return f"{shown}/"
        case "file":
            return f"{shown}  {_size(facts.size)}"
        case "other":
            return f"{shown}  (device, pipe or socket)"


def _size(size: int) -> str:
    if size < _KIB:
        return f"{size} B"
    return f"{size / _KIB:.1f} KB" if size < _KIB * _KIB else f"{size / _KIB / _KIB:.1f} MB"
