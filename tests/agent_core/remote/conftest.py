"""What the tests of tests/agent_core/remote share."""

from __future__ import annotations

import pytest

from tests.support.far_copies import CopyBench


@pytest.fixture
def bench(tmp_path):
    return CopyBench(tmp_path)
