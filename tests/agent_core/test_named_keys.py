"""A variable that the settings take a key from is not shown to commands, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.choices import SessionChoices
from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.interrupt import CancelToken
from tests.support.settings_files import configure
from tools.context import CommandSpec


@pytest.mark.parametrize(
    "server", [{"key_env": "MYLLM"}, {"api_key": "${MYLLM}"}, {"headers": {"X-Who": "a ${MYLLM}"}}]
)
def test_its_value_is_not_in_a_commands_environment(
    server: dict, home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYLLM", "not-for-commands")
    monkeypatch.setenv("OTHER", "kept")
    configure(home, {"model": "offline", "providers": {"house": {"base_url": "http://127.0.0.1:9/v1", **server}}})
    factory = AgentFactory(ConfigSource(Home(home)))
    made = factory.workspace(workspace, (), SessionChoices())
    outcome = made.terminal.run(CommandSpec("env", workspace, 10), lambda _: None, CancelToken())
    made.close()
    factory.close()
    assert "OTHER=kept" in outcome.output
    assert "not-for-commands" not in outcome.output
