"""Finds the source files below a path and gathers their outlines, cached or parsed, as far as time allows."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from tools.context import ToolContext
from tools.errors import Denied, FileAccessError, ToolError, ToolInterrupted
from tools.files.searching import SearchQuery
from tools.light_dataclass import dataclass
from tools.outline.cache import OutlineCache, Stamp
from tools.outline.languages import TONGUES, Tongue, grammar, is_installed, tongue_of
from tools.outline.model import Outline
from tools.outline.parsing import Stopped, is_source, outline_of

log = logging.getLogger(__name__)

MAX_FILES = 5000
MAX_BYTES = 512 * 1024

_GLOB = "*.{" + ",".join(TONGUES) + "}"
_FILE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """`files`: most files; `size`: bytes of one; `seconds`: for reading and parsing them."""

    files: int = MAX_FILES
    size: int = MAX_BYTES
    seconds: float = 10.0


@dataclass(slots=True)
class Collected:
    """What was gathered.

    Attributes:
        outlines: by path; files without any definition or reference are among them.
        found: how many source files there are.
        unread: files that time did not allow for.
        skipped: files that are too big, no text, generated, or not to be read.
        missing: languages whose grammar is not installed, with their number of files.
        parsed: how many had to be read anew.
    """

    outlines: dict[Path, Outline] = field(default_factory=dict)
    found: int = 0
    unread: int = 0
    skipped: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    parsed: int = 0


def collect(root: Path, ctx: ToolContext, limits: Limits | None = None) -> Collected:
    """The outlines of the source files below `root`, or of the file `root`; the newest where there are too many.

    Raises:
        ToolError: the path is not there, not readable, not allowed. ToolInterrupted.
    """
    limits = limits or Limits()
    result = ctx.fs.search(SearchQuery(_GLOB, root, target="files", limit=limits.files))
    collected = Collected(found=result.total, unread=max(0, result.total - len(result.hits)))
    stamps = _stamps([hit.path for hit in result.hits], ctx, limits, collected)
    cache = OutlineCache(ctx.cache)
    collected.outlines = cache.load(root, stamps)
    known = list(collected.outlines)
    new = {path: stamp for path, stamp in stamps.items() if path not in collected.outlines}
    try:
        # However long the listing took, each call gets on.
        _parse(new, ctx, time.monotonic() + limits.seconds, collected)
    finally:  # what was done is not done again after a cancel
        fresh = {path: (stamps[path], collected.outlines[path]) for path in new if path in collected.outlines}
        cache.store(fresh, known)
    return collected


def _stamps(paths: Sequence[Path], ctx: ToolContext, limits: Limits, collected: Collected) -> dict[Path, Stamp]:
    """The files to look into. A file that is gone, or not to be looked at, is passed over."""
    stamps: dict[Path, Stamp] = {}
    for path in paths:
        tongue = tongue_of(path.name)
        if tongue is None or not is_installed(tongue):
            collected.missing[tongue.name if tongue else path.suffix] += 1
            continue
        try:
            facts = ctx.fs.stat(path)
        except (FileAccessError, Denied):
            facts = None
        if facts is None or facts.kind != "file" or facts.size > limits.size:
            collected.skipped += 1
            continue
        stamps[path] = Stamp(facts.mtime_ns, facts.size)
    return stamps


def _parse(stamps: Mapping[Path, Stamp], ctx: ToolContext, deadline: float, collected: Collected) -> None:
    for path, stamp in stamps.items():
        now = time.monotonic()
        if now >= deadline:
            collected.unread += len(stamps) - collected.parsed
            return
        collected.parsed += 1
        try:
            with ctx.fs.open_saved(path) as stream:
                data = stream.read(stamp.size + 1)
        except (FileAccessError, Denied, OSError):
            collected.skipped += 1
            continue
        tongue = tongue_of(path.name)
        outline = _outline(data, tongue, ctx, min(deadline, now + _FILE_SECONDS)) if tongue else None
        if outline is None:
            collected.skipped += 1
        else:
            collected.outlines[path] = outline


def _outline(data: bytes, tongue: Tongue, ctx: ToolContext, deadline: float) -> Outline | None:
    if not is_source(data):
        return Outline()
    try:
        loaded = grammar(tongue)
    except ToolError as problem:
        log.warning("%s", problem)
        return None
    try:
        return outline_of(data, loaded, lambda: ctx.interrupt.is_set() or time.monotonic() >= deadline)
    except Stopped:
        if ctx.interrupt.is_set():
            raise ToolInterrupted from None
        return None
