"""The variables that programs get of this process's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.remote.target import OwnVariables
from tests.support.plugins import add_plugin, loaded, plugin_registry


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_they_are_those_of_now_without_what_is_hidden() -> None:
    found = OwnVariables(frozenset({"CORP_LLM"}))
    os.environ |= {"CORP_LLM": "k", "EDITION": "2"}

    assert found["EDITION"] == "2"
    assert "CORP_LLM" not in dict(found)
    assert len(found) == len(os.environ) - 1


def test_what_a_plugin_has_of_the_home_s_env_file_is_of_no_program(home: Path) -> None:
    (home / ".env").write_text("TICKETS_LOGIN=anna:sesame\n", encoding="utf-8")
    add_plugin(home / "plugins", "tickets", "import os; ctx.log.info(os.environ['TICKETS_LOGIN'][:4])")
    with plugin_registry() as registry:
        (status,) = loaded(home, registry).statuses

    assert status.state == "loaded"
    assert os.environ["TICKETS_LOGIN"] == "anna:sesame"
    assert "TICKETS_LOGIN" not in OwnVariables()
