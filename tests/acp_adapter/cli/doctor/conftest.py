"""What tests of the doctor's parts have: a case to look at, in a home and a user's directory of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.cli.doctor.configuration import Case
from agent_core.home import Home


@pytest.fixture
def case(home: Path) -> Callable[..., Case]:
    """Makes a case; `environ` adds to the process's environment, `root` is another home."""
    home.chmod(0o700)

    def make(root: Path | None = None, **environ: str) -> Case:
        return Case(Home(root or home), Path.home(), {**os.environ, **environ}, None)

    return make
