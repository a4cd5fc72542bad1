"""Which files git's and ripgrep's ignore files leave out, level by level."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from tools.text.globs import Rules

_NAMES = (".rgignore", ".ignore", ".gitignore")
_EXCLUDES_FILE = re.compile(r'^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.IGNORECASE | re.MULTILINE)


class _Level(NamedTuple):
    """The rules in one folder: by kind, in the order of `_NAMES`, then `.git/info/exclude`.

    A path relative to the searched folder becomes one relative to this: `strip` characters off, `prefix` in front.
    """

    rules: tuple[Rules, ...]
    strip: int
    prefix: str


class Ignoring:
    """The rules that hold in one folder, its own and those of the folders above."""

    def __init__(self, levels: tuple[_Level, ...], everywhere: Rules, *, reads: bool = True) -> None:
        self._reads = reads
        self._levels = levels  # the innermost first
        self._everywhere = everywhere
        self._order = list(_in_order(levels))
        if everywhere:
            self._order.append((everywhere, 0, ""))

    def inside(self, folder: str, names: Iterable[str], place: str) -> Ignoring:
        """The rules in a folder below.

        Args:
            folder: its path, absolute or from here; `names`: what is in it; `place`: the same folder as paths are
                written, with a slash behind it, '' for the searched folder itself.
        """
        level = _level(folder, set(names), len(place), "") if self._reads else None
        return Ignoring((level, *self._levels), self._everywhere) if level else self

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether `path`, relative to the searched folder, is left out."""
        for rules, strip, prefix in self._order:
            verdict = rules.ignores(prefix + path[strip:], is_folder)
            if verdict is not None:
                return verdict
        return False


def around(folder: str) -> Ignoring:
    """What holds in `folder` because of the folders that it is in, and of the user's own settings of git.

    Args:
        folder: its absolute path.
    """
    levels: list[_Level] = []
    above, below = folder, ""
    while above != "/":
        above, _, name = above.rpartition("/")
        above, below = above or "/", f"{name}/{below}"
        present = {name for name in (*_NAMES, ".git") if os.path.lexists(os.path.join(above, name))}
        if level := _level(above, present, 0, below):
            levels.append(level)
    return Ignoring(tuple(levels), Rules(_lines(_users_file())))


def nothing() -> Ignoring:
    """No rules at all, here or below."""
    return Ignoring((), Rules(()), reads=False)


def _level(folder: str, names: set[str], strip: int, prefix: str) -> _Level | None:
    has_git = ".git" in names
    if not has_git and names.isdisjoint(_NAMES):
        return None
    files = [Rules(_lines(os.path.join(folder, name)) if name in names else ()) for name in _NAMES]
    exclude = Rules(_lines(os.path.join(folder, ".git/info/exclude")) if has_git else ())
    return _Level((*files, exclude), strip, prefix)


def _in_order(levels: tuple[_Level, ...]) -> Iterable[tuple[Rules, int, str]]:
    # Each kind goes before the next, whichever folder it is in.
    for kind in range(len(_NAMES) + 1):
        for level in levels:
            if level.rules[kind]:
                yield level.rules[kind], level.strip, level.prefix


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read().split("\n")
    except OSError:
        return []


def _users_file() -> str:
    home = os.path.expanduser("~")
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    for path in (os.path.join(home, ".gitconfig"), os.path.join(settings, "git/config")):
        if found := _EXCLUDES_FILE.search("\n".join(_lines(path))):
            return os.path.expanduser(found[1])
    return os.path.join(settings, "git/ignore")
