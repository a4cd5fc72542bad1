"""Loads one plugin: bounded in time, and all or nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_core.plugins.context import PluginContext
from agent_core.plugins.manifest import Manifest
from agent_core.plugins.offers import Offers, Origin, PluginStatus
from tools.home_tools import LoadFailed, home_package, load_module, run_bounded
from tools.light_dataclass import dataclass
from tools.registry import ToolRegistry

TOOLS = "tools"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plugin that may be loaded.

    Attributes:
        folder: its own; of a package's plugin, None.
        root: the folder below which its modules are imported.
        entry: gets what a package offers: a function `register`, or a module that has one.
    """

    manifest: Manifest
    origin: Origin
    place: str
    folder: Path | None = None
    root: Path | None = None
    entry: Callable[[], object] | None = None

    def status(self, **facts: Any) -> PluginStatus:
        """How it stands with it."""
        manifest = self.manifest
        told = {"version": manifest.version, "description": manifest.description, **facts}
        return PluginStatus(manifest.name, self.origin, self.place, **told)


@dataclass(frozen=True, slots=True)
class Terms:
    """On which plugins are loaded.

    Attributes:
        registry: where tools go.
        settings: of the plugin's own, by its name.
        seconds: how long loading it may take; `hook_seconds`: how long a hook of it has.
    """

    registry: ToolRegistry
    settings: Callable[[str], Mapping[str, Any]]
    seconds: float = 10.0
    hook_seconds: float = 30.0


def load_plugin(candidate: Candidate, terms: Terms) -> PluginStatus:
    """Load a plugin; raises nothing of what it raises, and has nothing of one that failed."""
    name = candidate.manifest.name
    source = f"plugin {name}"
    context = PluginContext(
        name,
        candidate.folder or Path(candidate.place),
        terms.registry,
        terms.settings(name),
        hook_seconds=terms.hook_seconds,
        is_project=candidate.origin == "project",
    )
    try:
        run_bounded(source, lambda: _register(candidate, context), terms.seconds)
        _take_engines(context.offers)
    except LoadFailed as problem:
        _withdraw(terms.registry, source, context.offers)
        return candidate.status(state="failed", detail=str(problem))
    finally:
        context.close()
    offers = context.offers
    offers.tools = [entry.name for entry in terms.registry.entries() if entry.source == source]
    asked = ", ".join(sorted(context.passed_over))
    detail = f"also asks for {asked}, which this program does not offer" if asked else ""
    return candidate.status(state="loaded", offers=offers, detail=detail)


def _register(candidate: Candidate, context: PluginContext) -> None:
    register: object
    if candidate.entry is not None:
        found = candidate.entry()
        register = found if callable(found) else getattr(found, "register", None)
    else:
        register = _imported(candidate)
    if callable(register):
        register(context)


def _imported(candidate: Candidate) -> object:
    """Import the plugin's files; its `register`, or None."""
    folder, root = candidate.folder, candidate.root
    if folder is None or root is None:
        return None
    package, register = home_package(root), None
    init, tools = folder / "__init__.py", folder / TOOLS
    if init.is_file():
        register = getattr(load_module(package, root, init), "register", None)
    files = [file for file in sorted(tools.glob("*.py")) if not file.name.startswith(("_", "."))]
    for file in files:
        load_module(package, root, file)
    if not files and not init.is_file():
        raise LoadFailed(f"has neither __init__.py nor a file in {TOOLS}/")
    return register


def _take_engines(offers: Offers) -> None:
    if not offers.engines:
        return
    from agent_core.compaction.compactor import ENGINES  # noqa: PLC0415 - few plugins bring one

    for name, make in offers.engines.items():
        if name in ENGINES:
            raise LoadFailed(f"offers a context engine {name!r}, which there is already: it needs another name")
        ENGINES[name] = make


def _withdraw(registry: ToolRegistry, source: str, offers: Offers) -> None:
    if offers.environments:
        from tools.environments.backends import forget_backend  # noqa: PLC0415 - few plugins bring one

        for name in offers.environments:
            forget_backend(name)
    registry.withdraw(source)
