"""The sandbox's own directory: made when it is needed, gone with the session."""

from __future__ import annotations

import pytest

from tools.environments.sandbox.places import Scratch


def test_a_command_that_comes_after_the_sessions_end_makes_it_no_more():
    scratch = Scratch()
    path = scratch.path()
    assert path.is_dir()
    scratch.close()
    assert not path.exists()
    with pytest.raises(OSError, match="session has ended"):
        scratch.path()
