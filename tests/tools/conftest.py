"""The registry of the process, which tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.registry import ToolRegistry, registry
from tools.toolsets import load_builtin_tools


@pytest.fixture
def shared_registry() -> Iterator[ToolRegistry]:
    """It has the tools that come with the program. The tools and groups that a test adds are gone after it."""
    load_builtin_tools()
    tools, groups = {entry.name for entry in registry.entries()}, registry.toolsets()
    yield registry
    for entry in registry.entries():
        if entry.name not in tools:
            registry.unregister(entry.name)
    for name in registry.toolsets().keys() - groups.keys():
        registry.remove_toolset(name)
