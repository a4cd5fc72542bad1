"""`.cursor/rules/*.mdc`: rules with a head that says when they hold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

from tools.light_dataclass import dataclass
from tools.text.globs import GlobError, split, translate

FOLDER = ".cursor/rules"
_ENDING = ".mdc"
_MOST_FILES = 200
_MOST_DEPTH = 3
_LONGEST_GLOB = 200
_KEY = re.compile(r"([A-Za-z]\w*)\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class CursorRule:
    """A rule's head, and its text below.

    Attributes:
        always: it holds for all work.
        globs: it holds for work on files like these.
        description: what it is about, for who decides whether to read it.
    """

    text: str
    always: bool = False
    globs: tuple[str, ...] = ()
    description: str = ""

    def is_for(self, path: PurePosixPath) -> bool:
        """Whether it holds for work on a file; `path` is relative to the directory that `.cursor` is in."""
        return any(_fits(glob, path) for glob in self.globs)


def parse_rule(text: str) -> CursorRule:
    """A rule as it is written. One without a head always holds. The head need not be valid YAML: few are."""
    lines = text.lstrip("\n").split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() == "---"][:2]
    if len(ends) < 2 or ends[0] != 0:  # noqa: PLR2004 - one above, one below
        return CursorRule(text.strip(), always=True)
    values = _head(lines[1 : ends[1]])
    return CursorRule(
        "\n".join(lines[ends[1] + 1 :]).strip(),
        always=_plain(values.get("alwaysapply", "")).lower() == "true",
        globs=tuple(_listed(values.get("globs", ""))),
        description=" ".join(_plain(values.get("description", "")).split())[:300],
    )


def has_rules(directory: Path) -> bool:
    """Whether there may be any."""
    return os.path.isdir(f"{directory}/{FOLDER}")  # noqa: PTH112 - never raises


def rule_files(directory: Path) -> list[Path]:
    """The rules' files below `directory`, by name; no links are followed."""
    top = directory / FOLDER
    found: list[Path] = []
    for place, folders, names in os.walk(top):
        folders.sort()
        if len(Path(place).relative_to(top).parts) >= _MOST_DEPTH:
            folders.clear()
        found += (Path(place, name) for name in sorted(names) if name.endswith(_ENDING))
        if len(found) >= _MOST_FILES:
            break
    return found[:_MOST_FILES]


def _head(lines: list[str]) -> dict[str, str]:
    """Keys in lower case; the entries of a list that stand on lines of their own are joined by commas."""
    values: dict[str, str] = {}
    key = ""
    for line in lines:
        if found := _KEY.fullmatch(line.strip()):
            key = found[1].lower()
            values[key] = found[2].strip()
        elif key and line.strip().startswith("-"):
            values[key] = f"{values[key]},{line.strip()[1:].strip()}".lstrip(",")
    return values


def _listed(value: str) -> Iterator[str]:
    """Globs as they are written: with commas, in brackets, quoted or not; a comma in braces is the glob's own."""
    for written in split(value[1:-1] if value.startswith("[") and value.endswith("]") else value):
        if glob := _plain(written):
            yield glob.removeprefix("./")


def _fits(glob: str, path: PurePosixPath) -> bool:
    """Whether a glob means a path; one without a slash is for the name alone. None that is too long does."""
    if len(glob) > _LONGEST_GLOB:
        return False
    text = str(path) if "/" in glob else path.name
    return _compiled(f"{glob}**" if glob.endswith("/") else glob).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[str]:
    """The glob as an expression; what is none as the text that it is."""
    try:
        return re.compile(translate(glob), re.DOTALL)
    except GlobError:
        return re.compile(re.escape(glob))


def _plain(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
