"""Importing code of the user's: bounded in time, and what goes wrong in words for the person."""

from __future__ import annotations

import hashlib
import importlib
import logging
import sys
import threading
import traceback
import types
from collections.abc import Callable
from pathlib import Path

from tools.registry import registered_by

log = logging.getLogger(__name__)

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
