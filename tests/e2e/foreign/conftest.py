"""The foreign clients, where they are installed."""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.foreign.programs import ACPX


@pytest.fixture(scope="session")
def node() -> str:
    """The Node that runs the clients."""
    found = shutil.which("node")
    if found is None or not ACPX.exists():
        pytest.skip("the Node clients are not installed: run `make node-clients` (needs Node ≥ 20 and npm)")
    return found
