"""Tools that exist for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.agents import TEST_TOOLS
from tools.registry import Parallel, registry

AddTool = Callable[..., None]


@pytest.fixture
def add_tool() -> Iterator[AddTool]:
    """Register a tool until the end of the test."""
    names: list[str] = []

    def add(name: str, handler: Callable[..., Any], parallel: Parallel = "never") -> None:
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        registry.register(name, TEST_TOOLS, schema, handler, description="A tool of a test.", parallel=parallel)
        names.append(name)

    yield add
    for name in names:
        registry._entries.pop(name, None)
