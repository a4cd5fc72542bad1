"""Which Python runs the programs of a project: the one that its person would use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.environments.own_programs import PROGRAMS
from tools.light_dataclass import dataclass

_FOLDERS = (".venv", "venv")
_NAMES = ("python3", "python")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python.

    Attributes:
        path: absolute.
        shown: what a person would type to start it.
        isolated: it looks for modules neither in its directory nor among the user's own.
        is_system: it is of no virtual environment.
    """

    path: str
    shown: str
    isolated: bool = False
    is_system: bool = False


def project_interpreter(cwd: Path, kept: Mapping[str, str | None], variables: Mapping[str, str]) -> Interpreter:
    """The Python of the virtual environment that is active in the session's shell, else of the project's own, else of
    the one that this program was started in; without any the system's.

    Args:
        kept: what the session's shell has exported.
        variables: of a fresh shell.
    """
    for folder in _environments(cwd, kept, variables):
        for name in _NAMES:
            if _is_program(path := folder / "bin" / name):
                return Interpreter(str(path), _shown(path, cwd))
    return system_interpreter(variables)


def system_interpreter(variables: Mapping[str, str]) -> Interpreter:
    """The Python that a fresh shell finds outside of workspaces; where there is none, the one that runs us."""
    for name in _NAMES:
        if found := PROGRAMS.find(name, variables.get("PATH")):
            return Interpreter(found, name, is_system=True)
    return Interpreter(sys.executable, sys.executable, is_system=True)


def _environments(cwd: Path, kept: Mapping[str, str | None], variables: Mapping[str, str]) -> Iterator[Path]:
    """The directories of virtual environments, the likeliest first."""
    if active := kept.get("VIRTUAL_ENV"):
        yield cwd / active
    if named := variables.get("UV_PROJECT_ENVIRONMENT"):
        yield cwd / named
    for folder in _up_to_repository(cwd):
        yield from (folder / name for name in _FOLDERS)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        place = variables.get(name)
        # Our own is no project's.
        if place and os.path.realpath(place) != os.path.realpath(sys.prefix):
            yield cwd / place


def _up_to_repository(cwd: Path) -> Iterator[Path]:
    """The directory, and those above it as far as its repository goes."""
    above: list[Path] = []
    for folder in (cwd, *cwd.parents):
        above.append(folder)
        if (folder / ".git").exists():
            yield from above
            return
    yield cwd


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _shown(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
