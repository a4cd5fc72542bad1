"""Lists the files below a folder, in any order, without those that are left out. Links are not followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tools.environments.python_search import ignoring
from tools.environments.python_search.ignoring import Ignoring
from tools.text.globs import NamePattern


class Choice(NamedTuple):
    """Which files are wanted.

    Attributes:
        globs: they go before all ignore files.
        kinds: globs of names, of which one has to match; none for any name.
        ignored: ignore files do not count.
        complain: is told of each folder that cannot be read.
    """

    complain: Callable[[str, OSError], None]
    globs: tuple[NamePattern, ...] = ()
    kinds: tuple[NamePattern, ...] = ()
    ignored: bool = False


def files(choice: Choice) -> Iterator[str]:
    """The files below the working directory, as `./a/b`."""
    start = ignoring.nothing() if choice.ignored else ignoring.around(os.getcwd())
    folders: list[tuple[str, Ignoring]] = [("", start)]
    while folders:
        place, above = folders.pop()
        try:
            with os.scandir(place or ".") as scan:
                entries = list(scan)
        except OSError as problem:
            choice.complain(f"./{place}".removesuffix("/"), problem)
            continue
        rules = above.inside(place or ".", (entry.name for entry in entries), place)
        for entry in entries:
            path = place + entry.name
            if entry.is_dir(follow_symlinks=False):
                if _wanted(choice, rules, path, is_folder=True):
                    folders.append((f"{path}/", rules))
            elif entry.is_file(follow_symlinks=False) and _wanted(choice, rules, path, is_folder=False):
                yield f"./{path}"


def _wanted(choice: Choice, rules: Ignoring, path: str, *, is_folder: bool) -> bool:
    verdict = _asked_for(choice.globs, path, is_folder)
    if verdict is False or (verdict is None and rules.ignores(path, is_folder)):
        return False
    if verdict or is_folder or not choice.kinds:
        return True
    name = path.rpartition("/")[2]
    return any(kind.decides(name, is_folder=False) for kind in choice.kinds)


def _asked_for(globs: tuple[NamePattern, ...], path: str, is_folder: bool) -> bool | None:
    """What the globs say: the last that is about the path, and where one asks for files, no other file."""
    for glob in reversed(globs):
        if glob.decides(path, is_folder):
            return not glob.excludes
    return False if not is_folder and any(not glob.excludes for glob in globs) else None
