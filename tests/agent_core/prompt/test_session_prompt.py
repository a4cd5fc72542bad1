"""The prompt of a session: built with its first turn, kept as it is; what is missing is told to the person."""

from __future__ import annotations

import pytest

from agent_core.agent import AIAgent
from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.model_request.fallback_chain import Route
from agent_core.prompt.layers import PromptSettings
from agent_core.services import SessionServices
from agent_core.settings.options import SessionChoices
from agent_core.settings.project import PermissionSettings
from agent_core.workspace import local_workspace
from tests.support.agents import Ears, make_agent
from tests.support.choices import choice_for
from tests.support.model_server import Reply
from tests.support.scripted_provider import ScriptedProvider, says
from tests.support.settings_files import use_model
from tools.approval.rules import parse_rule
from tools.environments.guardian import Guardian


def system_of(provider: ScriptedProvider, number: int = -1) -> str:
    message = provider.requests[number].messages[0]
    assert message["role"] == "system"
    return str(message["content"])


@pytest.fixture
def provider():
    return ScriptedProvider(*(says("fine") for _ in range(4)))


def test_the_rules_of_the_directory_are_in_the_prompt_with_their_sizes(tmp_path, provider):
    (tmp_path / "AGENTS.md").write_text("Use uv.")
    agent = make_agent(tmp_path, provider=provider)
    agent.chat("hi")
    assert "Use uv." in system_of(provider)
    assert "[Rules of AGENTS.md]" in system_of(provider)
    kept = agent.services.kept()
    assert ("AGENTS.md", len("[Rules of AGENTS.md]\nUse uv.\n[End of AGENTS.md]")) in kept.prompt_layers
    assert kept.system == system_of(provider)


def test_nothing_is_read_before_the_first_turn(tmp_path, provider):
    agent = make_agent(tmp_path, provider=provider)
    (tmp_path / "AGENTS.md").write_text("Written later.")
    agent.chat("hi")
    assert "Written later." in system_of(provider)


def test_the_prompt_stays_when_files_and_models_change(tmp_path, provider):
    agent = make_agent(tmp_path, provider=provider)
    agent.chat("hi")
    (tmp_path / "AGENTS.md").write_text("New.")
    agent.switch(Route.single(choice_for("http://127.0.0.1:9", model="claude-opus"), provider), None)
    agent.chat("again")
    assert system_of(provider, 0) == system_of(provider, 1)


def test_a_new_session_has_the_words_of_its_models_family(tmp_path, provider):
    for model in ("claude-opus", "qwen3:8b"):
        workspace = local_workspace(tmp_path, guardian=Guardian())
        route = Route.single(choice_for("http://127.0.0.1:9", model=model), provider)
        AIAgent(model, provider, workspace=workspace, route=route).chat("hi")
    assert "Do what was asked and no more" in system_of(provider, 0)
    assert "One step at a time" in system_of(provider, 1)


def test_what_was_left_out_is_told_once_and_kept(tmp_path, provider):
    (tmp_path / "AGENTS.md").write_bytes(b"\x00\x01\x02" * 50)
    ears = Ears()
    agent = make_agent(tmp_path, provider=provider, callbacks=ears.callbacks())
    agent.chat("hi")
    agent.chat("again")
    (status,) = ears.of("status")
    assert (status.kind, status.text) == (
        "context",
        "AGENTS.md is left out of what the model is told: it is no text.",
    )
    later = SessionServices()
    later.restore(agent.services.kept(), same_prompt=True)
    assert later.prompt_notes == (status.text,)
    later.restore(agent.services.kept(), same_prompt=False)
    assert (later.system, later.prompt_layers, later.prompt_notes) == (None, (), ())


def test_a_rule_that_denies_reading_a_file_holds_for_rules_files(tmp_path, provider):
    (tmp_path / "AGENTS.md").write_text("Use uv. @docs/a.md @.env")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("docs")
    (tmp_path / ".env").write_text("KEY=1")
    deny = (parse_rule("read: docs/**", "a test"),)
    workspace = local_workspace(tmp_path, guardian=Guardian(), permissions=PermissionSettings(deny=deny))
    agent = AIAgent("test-model", provider, workspace=workspace)
    agent.chat("hi")
    assert "Use uv." in system_of(provider)
    assert "KEY=1" not in system_of(provider)
    assert [note.split(" is ")[0] for note in agent.services.prompt_notes] == ["docs/a.md", ".env"]


def test_the_ephemeral_text_is_sent_and_never_kept(tmp_path, provider):
    agent = make_agent(tmp_path, provider=provider, ephemeral_system_prompt="Speak like a pirate.")
    agent.chat("hi")
    agent.run_conversation("again", system_message="Only this.")
    assert system_of(provider, 0).endswith("\n\nSpeak like a pirate.")
    assert system_of(provider, 1) == "Only this.\n\nSpeak like a pirate."
    assert "pirate" not in (agent.services.kept().system or "")
    assert "pirate" not in str(agent.messages)


def test_the_ephemeral_text_is_none_of_the_settings_defaults(tmp_path, provider):
    given = PromptSettings(ephemeral="From settings.")
    make_agent(tmp_path, provider=provider, prompt=given).chat("hi")
    assert system_of(provider).endswith("From settings.")


@pytest.mark.parametrize(
    ("variable", "setting", "ending"),
    [("", "", None), ("", "Of the file.", "Of the file."), ("Of the variable.", "Of the file.", "Of the variable.")],
)
def test_the_settings_reach_the_agent(home, tmp_path, monkeypatch, model_server, variable, setting, ending):
    given = {"agent": {"ephemeral_system_prompt": setting}, "context_files": {"max_chars": 1_000}}
    use_model(home, model_server, **given)
    model_server.add(Reply("Hello."), Reply("Hello."))
    (home / "SOUL.md").write_text("You are Ada.")
    (tmp_path / "AGENTS.md").write_text("rule\n" * 1_000)
    if variable:
        monkeypatch.setenv("HERMES_EPHEMERAL_SYSTEM_PROMPT", variable)
    factory = AgentFactory(ConfigSource(Home(home)))
    try:
        workspace = factory.workspace(tmp_path, (), SessionChoices())
        services = factory.services("s", workspace)
        agent = factory.agent("s", workspace, services)
        use_model(home, model_server, **given | {"agent": {"ephemeral_system_prompt": "Changed meanwhile."}})
        later = factory.agent("s", workspace, services)
        agent.chat("hi")
        later.chat("hi")
        for request in model_server.requests:
            system = request.body["messages"][0]["content"]
            assert system.endswith(ending) if ending else "Of the" not in system
            assert "Changed meanwhile." not in system
        assert services.system is not None
        assert services.system.startswith("You are Ada.")
        assert "characters are left out here" in services.system
        assert ending is None or ending not in services.system
    finally:
        factory.close()
