"""Looks for skills' folders: what has a SKILL.md, in a few levels of categories, within a number of entries."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from agent_core.skills.reading import is_below
from tools.agent_ports import SKILL_FILE, Origin
from tools.light_dataclass import dataclass

PROJECT_FOLDERS = (".hermes/skills", ".agents/skills", ".claude/skills")
MOST_SKILLS = 300
"""Of one source."""

_MOST_ENTRIES = 5_000
_MOST_LEVELS = 4
_MOST_PARENTS = 40


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with skills in it.

    Attributes:
        within: where it must not lead out of (a project); None: it may be anywhere.
    """

    path: Path
    origin: Origin
    within: Path | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A SKILL.md as it is: with these, nothing of it has changed.

    Attributes:
        folder: the skill's, with symbolic links resolved. A text: all of them are looked at before each prompt.
        name: the folder's name as it was found: a link may be called otherwise than what it leads to.
        stamp: changes when the file does; empty where it leads nowhere.
    """

    folder: str
    name: str
    category: str
    origin: Origin
    stamp: tuple[int, ...]


@dataclass(slots=True)
class Survey:
    """What was found of one source; `cut` tells why it is not all of it."""

    found: list[Found] = field(default_factory=list)
    cut: str = ""


def project_sources(cwd: Path) -> Iterator[Source]:
    """Where the skills of the project around `cwd` may be, the closest first: up to the root of its repository."""
    here = Path(os.path.realpath(cwd))
    folders = [here, *here.parents][:_MOST_PARENTS]
    depth = next((number for number, folder in enumerate(folders) if os.path.lexists(folder / ".git")), 0)
    for folder in folders[: depth + 1]:
        for name in PROJECT_FOLDERS:
            yield Source(folder / name, "project", within=folders[depth])


def survey(source: Source) -> tuple[str, Survey]:
    """The source's real path and the skills in it; '' where there is no such folder."""
    result = Survey()
    try:
        # Most places that could hold skills are not there: only of others the links are followed.
        if not stat.S_ISDIR(os.stat(source.path).st_mode):  # noqa: PTH116 - a path as text is quicker
            return "", result
        root = os.path.realpath(source.path, strict=True)
    except (OSError, ValueError):
        return "", result
    if source.within is not None and not is_below(Path(root), source.within):
        result.cut = "it leads out of the project, so nothing in it is used"
        return root, result
    _Walk(source, root, result).look(root, ())
    return root, result


class _Walk:
    """One walk through a source."""

    def __init__(self, source: Source, root: str, result: Survey) -> None:
        self._source = source
        self._border = source.within or Path(root)
        self._result = result
        self._left = _MOST_ENTRIES

    def look(self, folder: str, category: tuple[str, ...]) -> None:
        for entry in self._entries(folder):
            if len(self._result.found) >= MOST_SKILLS:
                self._result.cut = f"it holds {MOST_SKILLS} skills or more; others are not used"
                return
            if entry.name.startswith(".") or not _is_directory(entry):
                continue
            is_link = entry.is_symlink()
            real = os.path.realpath(entry.path) if is_link else entry.path
            # The user's own links lead where they like; a project's stay in the project.
            if is_link and self._source.within is not None and not is_below(Path(real), self._border):
                continue
            if (stamp := _stamp(f"{real}/{SKILL_FILE}")) is not None:
                self._result.found.append(Found(real, entry.name, "/".join(category), self._source.origin, stamp))
            elif not is_link and len(category) < _MOST_LEVELS - 1:
                self.look(real, (*category, entry.name))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                listed = []
                for entry in entries:
                    if self._left <= 0:
                        self._result.cut = f"it holds more than {_MOST_ENTRIES:,} files; not all were looked at"
                        break
                    self._left -= 1
                    listed.append(entry)
        except OSError:  # one that cannot be listed has no skills
            return []
        return sorted(listed, key=lambda entry: entry.name)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _stamp(path: str) -> tuple[int, ...] | None:
    """Of the file or what it leads to; the one who reads it finds out whether it leads out."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - a path as text is quicker
    except OSError:
        # A link that leads nowhere, or round in a circle, is a broken skill and no category.
        return () if os.path.lexists(path) else None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
