"""What a person means by the globs of a search: several with commas between them, from a place of their own.

`*.ts,*.tsx` are two globs, `./*.ts` is one from where the search begins; `/home/me/src/**/*.ts` and `~/src/*.ts`
begin elsewhere. Which names go before a pattern is `tools.text.globs.settled`'s to say.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tools.context import ToolContext
from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.text.globs import split

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
