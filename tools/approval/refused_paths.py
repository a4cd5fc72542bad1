"""What a refused action named, and whether another would change that.

It looks at the disk and reads commands, which takes a while to load: imported with the first refusal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from tools.approval.actions import Action, CallMcpTool, ProcessInput, ReadPath, RunCommand, WriteMemory, WritePath
from tools.approval.rules.command_hits import read
from tools.approval.rules.named import names_in, paths_named
from tools.bash.reading import UNKNOWN

_ONLY_MOVES = frozenset({"cd", "pushd", "popd"})
_MOST_TEXTS = 200
_NO_FILES = frozenset(map(Path, ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero")))


def paths_of(action: Action, cwd: Path) -> frozenset[Path]:
    """The paths that an action names: those it would change, and those among a command's words.

    Each comes as it is written and with its links resolved; of a name that is not known, the directory it is in.

    Args:
        cwd: where the relative names begin that a server is given.
    """
    return frozenset(_known(path) for path in _named(action, cwd) if not _is_no_file(path))


def changes_any(action: Action, refused: frozenset[Path], cwd: Path) -> bool:
    """Whether an action may change one of these paths, something below it or a directory that it is in."""
    if isinstance(action, ReadPath) or (isinstance(action, CallMcpTool) and action.only_reads):
        return False
    above = {parent for path in refused for parent in path.parents}
    return any(
        path in refused or path in above or not refused.isdisjoint(path.parents) for path in paths_of(action, cwd)
    )


def _is_no_file(path: Path) -> bool:
    """An option, or what output is thrown into: a no to the command says nothing of these."""
    return path.name.startswith("-") or path in _NO_FILES


def _named(action: Action, cwd: Path) -> Iterator[Path]:
    match action:
        case ReadPath(path=path) | WriteMemory(path=path):
            yield path
        case WritePath(path=path, shown=shown):
            yield from (path, shown)
        case RunCommand(command=command, cwd=base):
            yield from (path for change in action.changes for path in (change.path, change.shown))
            yield from _of_command(command, base)
        case ProcessInput(data=data, cwd=base):
            yield from _of_command(data, base)
        case CallMcpTool(arguments=arguments):
            for text in _texts(arguments):
                yield from names_in(text, cwd)


def _of_command(command: str, cwd: Path) -> Iterator[Path]:
    for invocation in read(command, cwd).invocations:
        if invocation.program not in _ONLY_MOVES:
            yield from (path for path, _ in paths_named(invocation, cwd))


def _known(path: Path) -> Path:
    parts = path.parts
    unknown = next((at for at, part in enumerate(parts) if UNKNOWN in part), len(parts))
    return Path(os.path.normpath(Path(*parts[:unknown])))


def _texts(arguments: str) -> list[str]:
    """The texts in a call's arguments, at whatever depth; the first of many."""
    try:
        waiting = [json.loads(arguments)]
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    while waiting and len(found) < _MOST_TEXTS:
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found
