"""The examples of docs/plugins.md and docs/hooks.md, copied from there and used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_core.agent import AIAgent
from agent_core.config import ConfigSource
from agent_core.home import Home
from agent_core.hooks.hook import verdict_of
from agent_core.hooks.registry import HookSessions
from agent_core.plugins.plugin import CommandCall
from agent_core.plugins.plugins import Plugins
from agent_core.settings.hooks import HooksPart
from agent_core.settings.model import Settings
from tests.support.doc_blocks import blocks, file_on
from tests.support.each import each
from tests.support.hooks import hooked_agent, of_home
from tests.support.own_tools import write
from tests.support.plugins import forget_plugins, plugins_of
from tests.support.scripted_provider import Script, says, uses
from tests.support.settings_files import configure
from tests.support.tool_context import told_in
from tools.environments.guardian import Guardian
from tools.registry import registry

HOOKS = "hooks.md"
PLUGINS = "plugins.md"


@pytest.fixture
def plugins(home: Path) -> Iterator[Plugins]:
    """The plugin of the page in the home, with what the page sets for it."""
    for name in ("plugin.yaml", "__init__.py", "text.py"):
        write(home / "plugins" / "changelog" / name, file_on(PLUGINS, name))
    [settings] = [block.code for block in blocks(PLUGINS) if block.language == "yaml" and "entries" in block.code]
    write(home / "config.yaml", settings)
    made = plugins_of(home, registry)
    made.load()
    assert made.problems() == ()
    yield made
    forget_plugins()


def _agent(home: Path, cwd: Path, plugins: Plugins, *scripts: Script) -> AIAgent:
    hooks = HookSessions(ConfigSource(Home(home)), plugins, Guardian()).of("session-1", cwd, lambda: "default")
    return hooked_agent(cwd, *scripts, hooks=hooks)


def _results(agent: AIAgent) -> list[Any]:
    messages = agent.messages
    return [told_in(str(message["content"])) for message in messages if message["role"] == "tool"]


def test_the_plugin_of_the_page_adds_to_the_changelog(home: Path, tmp_path: Path, plugins: Plugins) -> None:
    (tmp_path / "HISTORY.md").write_text("# History\n\n## Unreleased\n\n- Old.\n\n## 1.0\n\n- First.\n")
    agent = _agent(home, tmp_path, plugins, uses(("call-1", "changelog_add", {"line": "New."})), says("Done."))

    assert agent.chat("go") == "Done."

    assert _results(agent) == [{"path": "HISTORY.md", "added": "New."}]
    [command] = plugins.commands(tmp_path)
    assert command.run(CommandCall("", "session-1", tmp_path)) == "- New.\n- Old."


def test_it_refuses_to_push(home: Path, tmp_path: Path, plugins: Plugins) -> None:
    agent = _agent(home, tmp_path, plugins, uses(("call-1", "terminal", {"command": "git push"})), says("Ok."))
    agent.chat("go")

    assert _results(agent)[0]["error"].startswith("Here people push, and no models.")


def test_it_reminds_the_model_of_what_was_changed_once(home: Path, tmp_path: Path, plugins: Plugins) -> None:
    write_one = uses(("call-1", "write_file", {"path": "a.txt", "content": "x\n"}))
    add = uses(("call-2", "changelog_add", {"line": "There is an a."}))
    agent = _agent(home, tmp_path, plugins, write_one, says("Done."), add, says("Told."), says("Nothing new."))

    assert agent.chat("go") == "Told."
    assert agent.chat("and now") == "Nothing new."
    assert "- There is an a." in (tmp_path / "HISTORY.md").read_text()


def test_the_commands_of_the_page_are_settings(home: Path, tmp_path: Path) -> None:
    first, *_ = [yaml.safe_load(block.code) for block in blocks(HOOKS) if block.language == "yaml"]
    hooks = Settings.model_validate(first).hooks

    assert [hook.event for hook in hooks.commands] == ["PreToolUse", "post_tool_call", "Stop"]
    assert hooks.left_out == ()
    project = [yaml.safe_load(block.code) for block in blocks(HOOKS) if block.language == "yaml"][1]
    assert len(HooksPart.model_validate(project).commands) == 1


def test_the_guard_of_the_page_guards(home: Path, tmp_path: Path) -> None:
    guard = write(home / "no-push.sh", file_on(HOOKS, "no-push.sh"))
    configure(home, {"hooks": {"PreToolUse": [{"matcher": "Bash", "command": f"sh {guard}"}]}})
    guardian = Guardian()
    push, look = uses(("call-1", "terminal", {"command": "git push"})), uses(("call-2", "read_file", {"path": "x"}))
    agent = hooked_agent(tmp_path, push, look, says("Ok."), hooks=of_home(home, tmp_path, guardian))
    agent.chat("go")
    guardian.kill_all()

    assert "Here people push, and no models." in _results(agent)[0]["error"]
    assert "push" not in _results(agent)[1]["error"]


def test_the_function_of_the_page_refuses_a_key() -> None:
    [source] = [block.code for block in blocks(HOOKS) if block.language == "python"]
    names: dict[str, Any] = {}
    exec(source, names)

    refused = verdict_of("pre_tool_call", names["no_secrets"]({"content": "-----BEGIN PRIVATE KEY-----"}))
    assert refused.refusal.startswith("That is a private key")
    assert names["no_secrets"]({"content": "x"}, tool_name="write_file") is None


@each("page", [HOOKS, PLUGINS])
def test_every_python_block_is_valid(page: str) -> None:
    for block in blocks(page):
        if block.language == "python":
            compile(block.code, page, "exec")
