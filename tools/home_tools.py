"""Tools of the user's own, files in the `tools` folder of the home: which are trusted, and how they are loaded.

They are code that the user has put there: it runs inside this program, and nobody is asked about that. What it does
through `ctx` passes the gates like everything else. Nothing is ever loaded from a workspace.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import re
import stat
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.light_dataclass import dataclass
from tools.os_compat import own_user
from tools.registry import registered_by

log = logging.getLogger(__name__)

# Importing code of the user's: bounded in time, and what goes wrong in words for the person.

_HASH_LENGTH = 8
_PREFIX = "hermes_home_"


class LoadFailed(Exception):
    """Code of the user's could not be loaded; the text completes «it …»."""


def home_package(root: Path) -> str:
    """The name of a package whose modules are the files below `root`; made at the first call."""
    name = f"{_PREFIX}{hashlib.sha256(str(root).encode('utf-8', 'surrogateescape')).hexdigest()[:_HASH_LENGTH]}"
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [str(root)]
        sys.modules[name] = package
    return name


def run_bounded(source: str, work: Callable[[], object], seconds: float) -> None:
    """Do `work`, on a thread of its own; what it registers is `source`'s.

    Raises:
        LoadFailed: it raised, or has not ended after `seconds`; then it goes on, and nobody waits for it.
    """
    problems: list[BaseException] = []

    def run() -> None:
        try:
            with registered_by(source):
                work()
        except BaseException as problem:
            log.warning("%s could not be loaded", source, exc_info=True)
            problems.append(problem)

    thread = threading.Thread(target=run, name=f"load {source}", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise LoadFailed(f"was not done after {seconds:g} seconds and is not waited for: let its top level do less")
    if problems:
        raise LoadFailed(told(problems[0])) from problems[0]


def load_module(package: str, root: Path, file: Path) -> types.ModuleType:
    """Import the file `file` below `root`, whose package is `package` (see `home_package`).

    Raises:
        LoadFailed: another file has the same name. Whatever the file raises.
    """
    parts = file.relative_to(root).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    if any("." in part for part in parts):
        raise LoadFailed("has a dot in its name: rename it")
    module = importlib.import_module(".".join((package, *parts)))
    if module.__file__ is None or Path(module.__file__) != file:
        raise LoadFailed(f"has the same name as {module.__file__}, which is loaded instead: rename one of them")
    return module


def told(problem: BaseException) -> str:
    """What went wrong while code was loaded, to complete «it …»."""
    if isinstance(problem, LoadFailed):
        return str(problem)
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        top, _, rest = problem.name.partition(".")
        if top.startswith(_PREFIX):
            return f"needs {rest.replace('.', '/')}.py, which is not there or must not be loaded"
        return f"needs the module {top}: if that is a package, install it with {sys.executable} -m pip install {top}"
    if isinstance(problem, SyntaxError):
        return f"is no valid Python: line {problem.lineno}: {problem.msg}"
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" at line {frames[-1].lineno} of {frames[-1].filename}" if frames else ""
    return f"failed{where}: {type(problem).__name__}: {problem}"


# Which files of the home may become code of this program.


def why_not_trusted(path: Path, home: Path) -> str:
    """Why `path`, a file below `home`, must not be loaded, to complete «it …»; '' when it may.

    It and every directory up to the home have to be the user's own (or root's), and nobody else may change them.
    """
    real, root = Path(os.path.realpath(path)), Path(os.path.realpath(home))
    if real != root and root not in real.parents:
        return f"is a link that leads out of {home}, to {real}: copy the file there instead"
    places = [real, *(parent for parent in real.parents if parent == root or root in parent.parents)]
    for place in places:
        try:
            facts = place.stat()
        except OSError as problem:
            return f"cannot be looked at ({problem.strerror})"
        which = "" if place == real else f", being in {place},"
        if facts.st_uid not in {own_user(), 0}:
            return f"belongs{which} to another user: take it over with chown, or remove it"
        if facts.st_mode & stat.S_IWOTH:
            return f"could be changed{which} by every user of this machine: run chmod o-w {place}"
    return ""


# The text of files in the home that become code, and the variables that they look for.

_exported: set[str] = set()  # as the environment itself, the process's
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def trusted_text(file: Path, home: Path) -> str:
    """The text of `file` below `home`.

    Raises:
        LoadFailed: it must not be loaded, or cannot be read.
    """
    if reason := why_not_trusted(file, home):
        raise LoadFailed(f"was not loaded: it {reason}")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise LoadFailed(f"cannot be read: {problem}") from problem


def export(text: str, variables: Mapping[str, str]) -> None:
    """Make variables of this process of those of `variables` that `text` names and that are not set."""
    for name in variables.keys() & set(_NAME.findall(text)):
        if name not in os.environ:
            os.environ[name] = variables[name]
            _exported.add(name)


def exported() -> frozenset[str]:
    """The variables that `export` has made: this process's alone, and of no program that it starts."""
    return frozenset(_exported)


# Loads the tools of the user's own, once, when tools are first wanted; a broken one never stops the others.

TOOLS = "tools"

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """Why something of the user's own is not there. `source` is «tools/weather.py»."""

    source: str
    text: str


class HomeTools:
    """The user's own tool files; one that changes afterwards counts when the program starts again.

    Args:
        root: the home.
        variables: the environment with the home's `.env`. Those that a file names become variables of this process
            before it is loaded, as it looks for them there.
        seconds: how long one file may take.
    """

    def __init__(
        self,
        root: Path,
        *,
        variables: Callable[[], Mapping[str, str]] = dict,
        seconds: float = _SECONDS,
    ) -> None:
        self._root = root
        self._variables = variables
        self._seconds = seconds
        self._problems: list[ToolProblem] = []

    @property
    def problems(self) -> tuple[ToolProblem, ...]:
        """What could not be loaded, for the person."""
        return tuple(self._problems)

    def load(self) -> None:
        """Load all of it. Blocks, at most some seconds a file; raises nothing."""
        files = _python_files(self._root / TOOLS)
        if not files:
            return
        importlib.invalidate_caches()
        self._close_untrusted()
        for file in files:
            source = f"{TOOLS}/{file.name}"
            try:
                self._load_file(file, source)
            except LoadFailed as problem:
                text = (
                    f"{source} of {self._root} {problem}. Its tools may be missing; once that is mended, start again."
                )
                log.warning("%s", text)
                self._problems.append(ToolProblem(source, text))

    def _close_untrusted(self) -> None:
        """No other file of the tools may import one that must not be loaded."""
        for file in (self._root / TOOLS).rglob("*.py"):
            if why_not_trusted(file, self._root):
                parts = file.relative_to(self._root).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                sys.modules[".".join((home_package(self._root), *parts))] = None  # type: ignore[assignment]

    def _load_file(self, file: Path, source: str) -> None:
        text = trusted_text(file, self._root)
        if "register(" in text:
            export(text, self._variables())
            package = home_package(self._root)
            run_bounded(source, lambda: load_module(package, self._root, file), self._seconds)


def _python_files(folder: Path) -> list[Path]:
    try:
        found = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        log.warning("%s cannot be listed: %s", folder, problem.strerror)
        return []
    return [
        path for path in found if not path.name.startswith((".", "_")) and path.suffix == ".py" and path.is_file()
    ]
