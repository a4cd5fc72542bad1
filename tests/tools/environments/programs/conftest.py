"""What the tests of tests/tools/environments/programs share."""

from __future__ import annotations

import pytest

from tests.support.programs import program_bench


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with program_bench(tmp_path) as bench:
        yield bench
