"""Tools that exist for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.agents import TEST_TOOLS
from tests.support.token_endpoint import TokenEndpoint
from tests.support.wire_agents import Connections, agent_over
from tools.registry import Parallel, registry

AddTool = Callable[..., None]


@pytest.fixture
def add_tool() -> Iterator[AddTool]:
    """Register a tool until the end of the test."""
    names: list[str] = []

    def add(name: str, handler: Callable[..., Any], parallel: Parallel = "never", *arguments: str) -> None:
        found = {"path": {"type": "string"}, "who": {"type": "string"}}
        schema = {"type": "object", "properties": found | {argument: {} for argument in arguments}}
        registry.register(name, TEST_TOOLS, schema, handler, description="A tool of a test.", parallel=parallel)
        names.append(name)

    yield add
    for name in names:
        registry.unregister(name)


@pytest.fixture
def over(tmp_path):
    """Make an agent in `tmp_path` that asks the given choices of model in turn."""
    connections = Connections()
    yield lambda *choices, **options: agent_over(tmp_path, connections, choices, **options)
    connections.close()


@pytest.fixture
def endpoint():
    server = TokenEndpoint()
    yield server
    server.close()
