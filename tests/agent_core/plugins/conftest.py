"""What the tests of tests/agent_core/plugins share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.plugins import plugin_registry
from tools.registry import ToolRegistry


@pytest.fixture
def registry() -> Iterator[ToolRegistry]:
    with plugin_registry() as made:
        yield made
