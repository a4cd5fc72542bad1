"""A home with tools of the user's own, and a registry of the test that they register in."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import registry as registry_module
from tools.home_tools import HomeTools
from tools.registry import ToolRegistry
from tools.toolsets import load_builtin_tools

WEATHER = """
    import json
    import os

    from tools.registry import registry

    SCHEMA = {
        "name": "weather",
        "description": "The weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["place"],
        },
    }

    registry.register(
        name="weather",
        toolset="weather",
        schema=SCHEMA,
        handler=lambda args, **kw: json.dumps({"place": args["place"], "key": os.environ["WEATHER_API_KEY"]}),
        check_fn=lambda: bool(os.getenv("WEATHER_API_KEY")),
        requires_env=["WEATHER_API_KEY"],
    )
"""


def write(path: Path, text: str) -> Path:
    """A file of the user's own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def tool_file(name: str, *, before: str = "", after: str = "", **options: Any) -> str:
    """The source of a file that registers one tool, which answers with its name."""
    more = "".join(f", {key}={value!r}" for key, value in options.items() if key != "toolset")
    return (
        f"{before}\nfrom tools.registry import registry\n"
        f"registry.register({name!r}, {options.get('toolset', name)!r}, {{'type': 'object', 'properties': {{}}}}, "
        f'lambda args, **kw: \'{{"from": "{name}"}}\'{more})\n{after}\n'
    )


@contextmanager
def own_registry(*places: Any) -> Iterator[ToolRegistry]:
    """An empty registry in place of the process's, in `tools.registry` and in the modules of `places`."""
    load_builtin_tools()  # they belong to the process's registry
    made = ToolRegistry()
    before = [(place, place.registry) for place in (registry_module, *places)]
    for place, _ in before:
        place.registry = made
    try:
        yield made
    finally:
        for place, known in before:
            place.registry = known


def load(home: Path, _registry: ToolRegistry, **options: Any) -> HomeTools:
    """The user's own tool files of `home`, loaded: they register in the registry of the test."""
    own = HomeTools(home, **options)
    own.load()
    return own
