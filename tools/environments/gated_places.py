"""Asks about what commands have changed in places that others run later, and puts back what may not stay.

All that one command has changed is one question: a checkout may bring settings of three editors, and whoever is asked
ten times reads none of it. What a package manager puts where its packages' programs belong is noted and not asked.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tools.approval.actions import WritePath
from tools.approval.gate import Gate
from tools.approval.persistence_paths import run_later
from tools.changes.skipped_folders import is_generated
from tools.environments.kept_places import KeptPlaces, PlaceChange, Snapshot
from tools.errors import Denied
from tools.ports import FileHistory

_MOST_LOOKS = 4
_SOMEWHERE = Path("/")
_MOST_NAMED = 3
_BEHIND = "is run or read by git or by others because of what leads to it"
# What these programs do then is run others: the packages' own, or the project's.
_RUNS_OTHERS = frozenset({
    "run", "run-script", "exec", "start", "stop", "restart", "test", "t", "x", "dlx", "node", "shell", "script",
    "create", "init", "tool", "build", "publish", "config",
})  # fmt: skip
_NEEDS_NO_WORD = frozenset({"yarn", "venv", "virtualenv"})


def look_after(
    places: KeptPlaces,
    before: Snapshot,
    gate: Gate,
    *,
    history: FileHistory,
    command: str = "",
    cwd: Path = _SOMEWHERE,
) -> tuple[Path, ...]:
    """Ask about what has changed since `before`; what was put back.

    Args:
        history: notes what stays where it looks for no changes of commands.
        command: what was run in `cwd`; '' where nobody knows.

    Raises:
        ToolInterrupted: nobody can be asked any more; what was not agreed to is put back as well.
    """
    found: list[Path] = []
    look = before.look
    for _ in range(_MOST_LOOKS):
        changes = places.changed(before)
        asked = [change for change in changes if not _comes_along(change, changes, command, cwd)]
        if installed := [change for change in changes if change not in asked]:
            gate.note(_told(installed))
        if not asked or _may_stay(places, asked, gate):
            _note(asked, history)
            break
        found += [change.path for change in asked if not change.is_behind]
        # Settings that are back may name places that nobody has looked at since the beginning.
        before = replace(places.before(keep=True), look=look)
    return tuple(found)


def written_place(path: Path, before: bytes | None, after: bytes) -> WritePath:
    """The change of a place as it is asked about."""
    return WritePath(path, before, after, shown=path, runs_later=_BEHIND)


def _may_stay(places: KeptPlaces, changes: Sequence[PlaceChange], gate: Gate) -> bool:
    try:
        gate.authorize_together([written_place(each.path, each.before, each.after) for each in changes])
    except Denied:
        _put_back(places, changes)
        return False
    except BaseException:
        # Nobody can say yes any more: the turn is over.
        _put_back(places, changes)
        raise
    return True


def _note(changes: Sequence[PlaceChange], history: FileHistory) -> None:
    """So that it can be taken back like an edit. What lies elsewhere is found by itself."""
    for change in changes:
        is_whole = change.was is None or (not change.was.is_link and change.before is not None)
        if is_whole and not change.is_behind and any(map(is_generated, change.path.parts)):
            history.writing(change.path, change.before, change.after)


def _put_back(places: KeptPlaces, changes: Sequence[PlaceChange]) -> None:
    """All of them, whatever becomes of one.

    Raises:
        OSError: what became of the first that could not be put back.
    """
    problems: list[OSError] = []
    for change in changes:
        try:
            places.put_back(change)
        except OSError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]


def _comes_along(change: PlaceChange, changes: Sequence[PlaceChange], command: str, cwd: Path) -> bool:
    """Whether it is what the command installs: programs of packages, in their own place."""
    place = run_later(change.path)
    if place is None or not command or place.comes_with.isdisjoint(installers(command, cwd)):
        return False
    # Packages never change how an environment is activated; making it again does.
    is_made = any(each.path.name == "pyvenv.cfg" for each in changes)
    return is_made or change.was is None or not change.path.name.startswith("activate")


@functools.lru_cache(maxsize=64)
def installers(command: str, cwd: Path) -> frozenset[str]:
    """The package managers that a command runs so that they change what is installed."""
    from tools.bash.read import read_command  # noqa: PLC0415 - much to load, and a start needs none of it

    found: set[str] = set()
    for call in read_command(command, cwd).invocations:
        words = [each.text for each in call.arguments]
        program = call.program
        if program.startswith("python") and words[:1] == ["-m"] and words[1:]:
            program, words = words[1], words[2:]
        plain = [word for word in words if not word.startswith("-")]
        if plain and plain[0] in _RUNS_OTHERS:
            continue
        if plain or program in _NEEDS_NO_WORD:
            found.add(program)
    return frozenset(found)


def _told(changes: Sequence[PlaceChange]) -> str:
    folders = list(dict.fromkeys(str(change.path.parent) for change in changes))
    more = f" and {len(folders) - _MOST_NAMED} more directories" if len(folders) > _MOST_NAMED else ""
    return f"Installing has changed {len(changes)} programs in {', '.join(folders[:_MOST_NAMED])}{more}."
