"""Whether a command that really ran had the effect that its label claims."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from tests.support.command_corpus import Effect
from tests.support.throwaway.machine import Run

_DEVICES = re.compile(r"/dev/(\w+)")
_SECRET = re.compile(r"PLANTED-[A-Z]+")
# Programs' own caches, and what git notes for itself when it only looks.
_BY_THE_WAY = re.compile(r"home/dev/(?:\.cache|\.npm|\.config/configstore|project/\.git/index)(?:/|$)")


def missing(effect: Effect, run: Run) -> list[str]:
    """What `effect` names and `run` did not do, for people; [] when all of it happened."""
    wrong = [f"{path} is still there" for path in effect.deletes if not _is_deleted(path, run)]
    wrong += [f"{path} is as it was" for path in effect.writes if not _is_written(path, run)]
    wrong += [f"{path} has the same permissions" for path in effect.mode if not _has_other_mode(path, run)]
    if effect.calls and not re.search(effect.calls, " ".join(run.calls.split())):
        wrong.append(f"no call of {effect.calls!r} in {run.calls!r}")
    if effect.prints and not re.search(effect.prints, run.output):
        wrong.append(f"no {effect.prints!r} in the output")
    if effect.changes and run.probed[0] == run.probed[1]:
        wrong.append(f"`{effect.changes}` says the same")
    if effect.kills and not run.has_killed:
        wrong.append("the process lives")
    return wrong and [*wrong, f"output: {run.output[-400:]!r}"]


def changed_outside(run: Run, *, project_too: bool = False) -> list[str]:
    """What differs on the machine outside of the project (and /tmp, which is not kept); `project_too`: anywhere."""
    before, after = _facts(run.before), _facts(run.after)
    differing = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return [
        path
        for path in differing
        if not _BY_THE_WAY.match(path) and (project_too or not path.startswith("home/dev/project/"))
    ]


def told_secrets(run: Run) -> list[str]:
    """The planted secrets in the output or in what a stub was given."""
    return sorted(set(_SECRET.findall(run.output + run.calls)))


def _is_deleted(path: str, run: Run) -> bool:
    return os.path.lexists(_at(run.before, path)) and not os.path.lexists(_at(run.after, path))


def _is_written(path: str, run: Run) -> bool:
    return os.path.lexists(_at(run.after, path)) and _content(_at(run.before, path)) != _content(_at(run.after, path))


def _has_other_mode(path: str, run: Run) -> bool:
    return stat.S_IMODE(_at(run.before, path).stat().st_mode) != stat.S_IMODE(_at(run.after, path).stat().st_mode)


def _content(path: Path) -> bytes | str | None:
    if path.is_symlink():
        return str(path.readlink())
    return path.read_bytes() if path.is_file() else None


def _at(machine: Path, path: str) -> Path:
    if device := _DEVICES.fullmatch(path):
        return machine / "devices" / device[1]
    if path.startswith("~/"):
        return machine / "home/dev" / path[2:]
    return machine / (path[1:] if path.startswith("/") else f"home/dev/project/{path}")


def _facts(machine: Path) -> dict[str, tuple[int, bytes | str | None]]:
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for folder, names, files in os.walk(machine):
        for name in (*names, *files):
            path = Path(folder, name)
            found[str(path.relative_to(machine))] = (path.lstat().st_mode, _content(path))
    return found
