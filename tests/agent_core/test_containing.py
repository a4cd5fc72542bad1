"""Where a session's commands may write and what they do not see, as settings and machine have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.containing import containment_of
from agent_core.settings.tools import SandboxPart
from tools.environments.containment import Containment


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path.resolve() / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def _containment(home: Path, **settings: object) -> Containment:
    return containment_of(SandboxPart(caches=False, **settings), [home / "project"], home / ".own")


def test_a_sign_in_that_comes_during_the_session_is_hidden_from_the_next_command(home: Path) -> None:
    containment = _containment(home)
    try:
        assert home / ".aws" not in containment.grounds().hidden
        (home / ".aws").mkdir()
        (home / ".npmrc").write_text("//registry.npmjs.org/:_authToken=npm_abc\n")
        assert {home / ".aws", home / ".npmrc"} <= set(containment.grounds().hidden)
    finally:
        containment.close()


def test_a_directory_of_the_settings_is_not_led_elsewhere_by_a_link_in_a_root(home: Path) -> None:
    (home / "project" / "out").symlink_to(home)
    (home / "beside").mkdir()
    named = (str(home / "project" / "out"), "~/beside", "~/missing")
    containment = _containment(home, writable=named)
    try:
        writable = containment.grounds().writable
        assert home / "project" in writable
        assert home not in writable
        (home / "beside").rmdir()
        (home / "beside").symlink_to(home)
        assert containment.grounds().writable == writable
    finally:
        containment.close()
