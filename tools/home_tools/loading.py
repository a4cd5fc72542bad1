"""Loads the tools of the user's own, once, when tools are first wanted; a broken one never stops the others."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tools.home_tools.modules import LoadFailed, home_package, load_module, run_bounded
from tools.home_tools.sources import export, trusted_text
from tools.home_tools.trust import why_not_trusted
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

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
            self._attempt(f"{TOOLS}/{file.name}", functools.partial(self._load_file, file))

    def _close_untrusted(self) -> None:
        """No other file of the tools may import one that must not be loaded."""
        for file in (self._root / TOOLS).rglob("*.py"):
            if why_not_trusted(file, self._root):
                parts = file.relative_to(self._root).with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                sys.modules[".".join((home_package(self._root), *parts))] = None  # type: ignore[assignment]

    def _attempt(self, source: str, load: Callable[[str], None]) -> None:
        try:
            load(source)
        except LoadFailed as problem:
            text = f"{source} of {self._root} {problem}. Its tools may be missing; once that is mended, start again."
            log.warning("%s", text)
            self._problems.append(ToolProblem(source, text))

    def _load_file(self, file: Path, source: str) -> None:
        text = trusted_text(file, self._root)
        if "register(" in text:
            export(text, self._variables())
            package = home_package(self._root)
            run_bounded(source, lambda: load_module(package, self._root, file), self._seconds)


def _python_files(folder: Path) -> list[Path]:
    return [path for path in _visible(folder) if path.suffix == ".py" and path.is_file()]


def _visible(folder: Path) -> Iterable[Path]:
    try:
        found = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        log.warning("%s cannot be listed: %s", folder, problem.strerror)
        return []
    return [path for path in found if not path.name.startswith((".", "_"))]
