"""Homes and projects with plugins, and a registry of the test that their tools go into."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.plugins.plugins import Plugins
from tests.support.own_tools import own_registry, write
from tools import dispatch as dispatch_module
from tools import registry as toolbox_module
from tools import toolsets as toolsets_module
from tools.registry import ToolRegistry, registry


@contextmanager
def plugin_registry() -> Iterator[ToolRegistry]:
    """An empty registry everywhere; what was imported of plugins goes with it."""
    with own_registry(dispatch_module, toolbox_module, toolsets_module) as made:
        yield made
    forget_plugins()


def forget_plugins() -> None:
    """Nothing of a plugin is left in this process."""
    for entry in registry.entries():
        if entry.source:
            registry.unregister(entry.name)
    for name in [name for name in sys.modules if name.startswith("hermes_home_")]:
        del sys.modules[name]


def add_plugin(place: Path, name: str, register: str, **manifest: Any) -> Path:
    """A plugin in the folder `place`: `register` is the body of its `register(ctx)`, or all of its file."""
    folder = place / name
    lines = [f"name: {name}", *(f"{key}: {json.dumps(value)}" for key, value in manifest.items())]
    write(folder / "plugin.yaml", "\n".join(lines) + "\n")
    body = register if "def register" in register else f"def register(ctx):\n    {register}\n"
    write(folder / "__init__.py", body)
    return folder


def tool(name: str, answer: str = "{}") -> str:
    """The statement that registers a tool which always answers the same."""
    schema = "{'type': 'object', 'properties': {}}"
    return f"ctx.register_tool({name!r}, {name!r}, {schema}, lambda args, **kw: {answer!r})"


def plugins_of(home: Path, registry: ToolRegistry | None = None, **options: Any) -> Plugins:
    """The plugins of a home, not loaded yet; installed packages bring none."""
    options.setdefault("packages", lambda: iter(()))
    return Plugins(ConfigSource(Home(home)), into=registry, **options)


def loaded(home: Path, registry: ToolRegistry, **options: Any) -> Plugins:
    """The plugins of a home, loaded."""
    plugins = plugins_of(home, registry, **options)
    plugins.load()
    return plugins
