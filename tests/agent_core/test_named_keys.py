"""A variable that the settings take a key from is not shown to commands, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.settings.options import SessionChoices
from tests.support.settings_files import configure
from tools.ports import CommandSpec
from tools.shell.session import ShellCommand


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


@pytest.mark.parametrize(
    ("listed", "seen"),
    [
        ([], set()),
        ("DEPLOY_TOKEN", {"DEPLOY_TOKEN"}),
        (["DEPLOY_*", "OPENAI_*", "MYLLM*", "HERMES_*"], {"DEPLOY_TOKEN"}),
        (["OPENAI_API_KEY", "MYLLM"], {"OPENAI_API_KEY", "MYLLM"}),
    ],
)
@pytest.mark.parametrize("pty", [False, True])
def test_what_the_user_passes_on_commands_have_but_of_our_own_keys_only_what_is_written_out(
    listed: object, seen: set[str], pty: bool, home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("DEPLOY_TOKEN", "OPENAI_API_KEY", "MYLLM", "HERMES_SECRET")
    for name in names:
        monkeypatch.setenv(name, f"value-of-{name}")
    configure(
        home,
        {
            "model": "offline",
            "providers": {"house": {"base_url": "http://127.0.0.1:9/v1", "key_env": "MYLLM"}},
            "terminal": {"env_passthrough": listed},
        },
    )
    assert _values_in(_run_env(home, workspace, pty=pty), names) == seen


def test_a_project_passes_nothing_on(home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "value-of-DEPLOY_TOKEN")
    configure(home, {"model": "offline"})
    (workspace / ".hermes").mkdir()
    (workspace / ".hermes/config.yaml").write_text("terminal: {env_passthrough: [DEPLOY_TOKEN]}\n")
    assert _values_in(_run_env(home, workspace), ("DEPLOY_TOKEN",)) == set()


def _run_env(home: Path, workspace: Path, *, pty: bool = False) -> str:
    factory = AgentFactory(ConfigSource(Home(home)))
    made = factory.workspace(workspace, (), SessionChoices())
    spec = ShellCommand("env", workspace, 10, pty=pty)
    output = made.terminal.run(spec, lambda _: None, CancelToken()).output
    made.close()
    factory.close()
    assert "PATH=" in output
    return output


def _values_in(output: str, names: tuple[str, ...]) -> set[str]:
    return {name for name in names if f"{name}=value-of-{name}" in output}
