"""Loads the tools of the user's own, once, when tools are first wanted; a broken one never stops the others."""

from __future__ import annotations

import functools
import importlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.home_tools.modules import LoadFailed, home_package, load_module, run_bounded
from tools.home_tools.plugin import MakeMemory, Manifest, PluginContext, read_manifest
from tools.home_tools.trust import why_not_trusted
from tools.registry import ToolRegistry, registry

log = logging.getLogger(__name__)

TOOLS, PLUGINS = "tools", "plugins"

_SECONDS = 10.0
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """Why something of the user's own is not there. `source` is «tools/weather.py» or «plugin weather»."""

    source: str
    text: str


class HomeTools:
    """The user's own tools and plugins; a file that changes afterwards counts when the program starts again.

    Args:
        root: the home.
        variables: the environment with the home's `.env`. Those that a file names become variables of this process
            before it is loaded, as it looks for them there.
        is_allowed: whether the plugin of that name is wanted.
        seconds: how long one file may take.
    """

    def __init__(
        self,
        root: Path,
        *,
        variables: Callable[[], Mapping[str, str]] = dict,
        is_allowed: Callable[[str], bool] = lambda _: True,
        seconds: float = _SECONDS,
        into: ToolRegistry | None = None,
    ) -> None:
        self._root = root
        self._variables = variables
        self._is_allowed = is_allowed
        self._seconds = seconds
        self._registry = into or registry
        self._problems: list[ToolProblem] = []
        self._memories: dict[str, MakeMemory] = {}

    @property
    def problems(self) -> tuple[ToolProblem, ...]:
        """What could not be loaded, for the person."""
        return tuple(self._problems)

    @property
    def memories(self) -> Mapping[str, MakeMemory]:
        """The memory providers that plugins offer, by name."""
        return self._memories

    def load(self) -> None:
        """Load all of it. Blocks, at most some seconds a file; raises nothing."""
        files, folders = _python_files(self._root / TOOLS), _folders(self._root / PLUGINS)
        if not files and not folders:
            return
        importlib.invalidate_caches()
        self._close_untrusted()
        for file in files:
            self._attempt(f"{TOOLS}/{file.name}", functools.partial(self._load_file, file))
        for folder in folders:
            self._attempt(f"plugin {folder.name}", functools.partial(self._load_plugin, folder))

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
            self._report(source, text)

    def _report(self, source: str, text: str) -> None:
        log.warning("%s", text)
        self._problems.append(ToolProblem(source, text))

    def _load_file(self, file: Path, source: str) -> None:
        text = self._trusted_text(file)
        if "register(" in text:
            self._export(text)
            self._import(source, file)

    def _load_plugin(self, folder: Path, source: str) -> None:
        manifest = read_manifest(folder) if not why_not_trusted(folder, self._root) else Manifest(folder.name)
        if manifest is None or not manifest.is_ours or not self._is_allowed(manifest.name):
            log.debug("the plugin in %s is passed over", folder)
            return
        files = [file for file in (folder / "__init__.py", *_python_files(folder / TOOLS)) if file.is_file()]
        if not files:
            raise LoadFailed(f"has neither __init__.py nor a file in {TOOLS}/")
        # All of them first: one that must not be loaded may be imported by another.
        for file in folder.rglob("*.py"):
            self._export(self._trusted_text(file))
        for file in files:
            run = self._register_plugin if file.name == "__init__.py" else self._import
            run(source, file)

    def _import(self, source: str, file: Path) -> None:
        run_bounded(source, functools.partial(self._module, file), self._seconds)

    def _register_plugin(self, source: str, file: Path) -> None:
        context = PluginContext(file.parent.name, file.parent, self._registry, self._memories)

        def work() -> None:
            register = getattr(self._module(file), "register", None)
            if callable(register):
                register(context)

        run_bounded(source, work, self._seconds)
        if context.passed_over:
            asked = ", ".join(sorted(context.passed_over))
            self._report(
                source, f"{source} of {self._root} also asks for {asked}, which this program does not offer."
            )

    def _module(self, file: Path) -> object:
        return load_module(home_package(self._root), self._root, file)

    def _trusted_text(self, file: Path) -> str:
        if reason := why_not_trusted(file, self._root):
            raise LoadFailed(f"was not loaded: it {reason}")
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise LoadFailed(f"cannot be read: {problem}") from problem

    def _export(self, text: str) -> None:
        variables = self._variables()
        for name in variables.keys() & set(_NAME.findall(text)):
            os.environ.setdefault(name, variables[name])


def _python_files(folder: Path) -> list[Path]:
    return [path for path in _visible(folder) if path.suffix == ".py" and path.is_file()]


def _folders(folder: Path) -> list[Path]:
    return [path for path in _visible(folder) if path.is_dir()]


def _visible(folder: Path) -> Iterable[Path]:
    try:
        found = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        log.warning("%s cannot be listed: %s", folder, problem.strerror)
        return []
    return [path for path in found if not path.name.startswith((".", "_"))]
