"""Sessions have language servers where the settings say so, and they end with the session."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.settings.options import SessionChoices
from tests.support import language_server
from tests.support.processes import has_ended


@pytest.fixture
def factory(home: Path) -> Iterator[AgentFactory]:
    factory = AgentFactory(ConfigSource(Home(home)))
    yield factory
    factory.close()


def test_nobody_is_asked_unless_the_settings_say_so(factory: AgentFactory, tmp_path: Path) -> None:
    assert factory.workspace(tmp_path, (), SessionChoices()).diagnostics is None


def test_servers_of_the_settings_are_asked_and_end_with_the_session(
    factory: AgentFactory, home: Path, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    fake = [sys.executable, "-I", language_server.__file__, "push", str(log)]
    (home / "config.yaml").write_text(f"lsp:\n  enabled: true\n  wait: 30\n  servers:\n    .txt: {fake}\n")
    workspace = factory.workspace(tmp_path, (), SessionChoices())
    servers, path = workspace.diagnostics, tmp_path / "a.txt"
    assert servers is not None
    (problem,) = servers.after(path, "BAD", servers.before(path, None), CancelToken())
    assert problem.message == "BAD is wrong"
    workspace.close()
    (start,) = [line for line in log.read_text().splitlines() if line.startswith("start ")]
    assert has_ended(int(start.split()[1]))


def test_they_get_no_variable_that_the_settings_take_a_key_from(
    factory: AgentFactory, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORP_LLM", "no-name-says-that-this-is-a-key")
    provider = "providers:\n  corp: {base_url: 'http://127.0.0.1:1', key_env: CORP_LLM}\n"
    fake = ["sh", "-c", f"env > '{tmp_path / 'variables'}'"]
    (home / "config.yaml").write_text(f"{provider}lsp:\n  enabled: true\n  servers:\n    .txt: {json.dumps(fake)}\n")
    workspace = factory.workspace(tmp_path, (), SessionChoices())
    servers, path = workspace.diagnostics, tmp_path / "a.txt"
    assert servers is not None
    servers.after(path, "BAD", servers.before(path, None), CancelToken())
    workspace.close()
    variables = (tmp_path / "variables").read_text()
    assert "PATH=" in variables
    assert "CORP_LLM" not in variables
