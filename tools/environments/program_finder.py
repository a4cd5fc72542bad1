"""Finds the programs that run on this program's own behalf, and the Python that runs the programs of a project.

Our own are git, rg, bwrap, ssh, a container engine, a browser, bash. An editor that was started from an activated
environment has programs of the workspace first on its PATH, and a confined command can leave one in a temporary
directory for the next session. So a program counts only where neither a session's directories nor a temporary
directory hold it, or a link on the way to it. A program that the user's own settings name (`programs`) is used
wherever it lies.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.light_dataclass import dataclass

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - so they are called
_MOST_LINKS = 40
_WORDS = re.compile(r"[^\s:;=,'\"]+")


class ProgramFinder:
    """What this process knows of places whose programs others may have written. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._untrusted: frozenset[Path] = frozenset()
        self._named: Mapping[str, str] = {}

    def distrust(self, places: Iterable[Path]) -> None:
        """Use no program below these directories from now on: a session's, and what else its commands may change."""
        found = frozenset(Path(os.path.realpath(place)) for place in places)
        with self._lock:
            self._untrusted |= found

    def trust(self) -> None:
        """Use the programs of all places again that were distrusted."""
        with self._lock:
            self._untrusted = frozenset()

    def name(self, programs: Mapping[str, str]) -> None:
        """Use these programs, by what they are called; in place of those named before.

        Args:
            programs: absolute paths.
        """
        with self._lock:
            self._named = dict(programs)

    def find(self, name: str, path: str | None = None) -> str | None:
        """The absolute path of a program; None where there is none that may be used.

        Args:
            name: what it is called, or an absolute path that the user has named.
            path: where to look; this process's PATH when None.
        """
        if name.startswith("/"):
            return name if _is_program(name) else None
        if named := self._named.get(name):
            return named if _is_program(named) else None
        if os.sep in name:
            return None
        untrusted = self._places()
        found = (f"{folder}/{name}" for folder in _folders(path))
        return next((program for program in found if _is_program(program) and _is_outside(program, untrusted)), None)

    def missing(self, name: str, path: str | None = None) -> str:
        """Why `find` has found nothing, and what to do: a sentence or two."""
        if named := self._named.get(name):
            return f"The setting programs.{name} names {named}, which is no program. Correct it in config.yaml."
        inside = next((found for folder in _folders(path) if _is_program(found := f"{folder}/{name}")), None)
        if inside is None:
            return (
                f"There is no program {name} on PATH. Install it, or name its path in config.yaml: programs.{name}."
            )
        return (
            f"The only {name} on PATH is {inside}, in a workspace or a temporary directory, where anyone may have "
            f"put it. Install another, or name this one in config.yaml if you mean it: programs.{name}."
        )

    def search_path(self, path: str | None = None) -> str:
        """PATH without the directories that are not trusted, for what our own programs start."""
        untrusted = self._places()
        return os.pathsep.join(folder for folder in _folders(path) if _is_outside(folder, untrusted)) or os.defpath

    def is_trusted(self, program: str) -> bool:
        """Whether a program (an absolute path) lies where none of a session's commands could have put it."""
        return _is_outside(program, self._places())

    def leads_astray(self, value: str, path: str | None = None) -> bool:
        """Whether a variable's value names a file where anyone may have put one: a path, or a program on PATH."""
        for word in _WORDS.findall(value):
            if "/" in word and not (word.startswith("/") and self.is_trusted(word)):
                return True
            if "/" not in word and (found := first_on_path(word, path)) and not self.is_trusted(found):
                return True
        return False

    def _places(self) -> frozenset[Path]:
        temporary = (*_TEMPORARY, tempfile.gettempdir(), os.environ.get("TMPDIR", ""))
        return self._untrusted | {Path(os.path.realpath(place)) for place in temporary if place.startswith("/")}


PROGRAMS = ProgramFinder()
"""Of this process: all its sessions share its PATH."""


def first_on_path(name: str, path: str | None = None, cwd: str = "/") -> str:
    """The program that a shell would run for a name, wherever it lies; '' where there is none.

    Args:
        path: where to look; this process's PATH when None.
        cwd: where the shell stands, for relative places.
    """
    searched = os.environ.get("PATH", os.defpath) if path is None else path
    found = (
        os.path.normpath(f"{cwd}/{folder}/{name}" if folder[:1] != "/" else f"{folder}/{name}")
        for folder in searched.split(os.pathsep)
    )
    return next((program for program in found if _is_program(program)), "")


def _folders(path: str | None) -> Iterator[str]:
    # A relative or empty one is wherever a process stands, which is the workspace.
    searched = os.environ.get("PATH", os.defpath) if path is None else path
    return (folder.rstrip("/") for folder in searched.split(os.pathsep) if folder.startswith("/"))


def _is_program(path: str | Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - several for each look


def _is_outside(path: str, untrusted: frozenset[Path]) -> bool:
    return not any(place in untrusted for step in _steps(path) for place in (step, *step.parents))


def _steps(path: str) -> Iterator[Path]:
    """Where a path lies as it is written, and each place that links lead it through, the last one included."""
    here = Path(os.path.normpath(path))
    yield here
    for _ in range(_MOST_LINKS):
        here = Path(os.path.realpath(here.parent)) / here.name
        yield here
        try:
            here = here.parent / here.readlink()
        except OSError:
            return


# The Python of a project: the one that its person would use.

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


def _shown(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
