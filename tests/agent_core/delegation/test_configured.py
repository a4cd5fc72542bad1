"""What the settings say of sub-agents, through the factory as sessions have it."""

from __future__ import annotations

import subprocess

import pytest
from pydantic import ValidationError

from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.sessions.records import NewSession
from agent_core.settings.model import Settings
from agent_core.settings.options import SessionChoices
from agent_core.settings.sections import DelegationPart
from agent_core.workspace_factory import Workspaces
from tests.support.delegating import delegates, told
from tests.support.model_server import Reply, ToolCall
from tests.support.settings_files import configure, use_model
from tools.approval.actions import WritePath


@pytest.fixture
def factory(home, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    factory = AgentFactory(ConfigSource(Home(home)))
    yield factory
    factory.close()


def workspaces(home, factory):
    """What makes those of the factory's sessions, and copies of them."""
    return Workspaces(ConfigSource(Home(home)), factory.sessions, auxiliary=None, plugins=factory.plugins)


def make(factory, cwd, mode="dont_ask"):
    workspace = factory.workspace(cwd, (), SessionChoices(mode=mode), "s1")
    factory.sessions.store.create_new(NewSession("s1", str(cwd)))
    return factory.agent("s1", workspace, factory.services("s1", workspace))


def test_what_others_write_is_understood():
    written = {"model": "m", "provider": "openai", "child_timeout_seconds": 9, "default_toolsets": ["files"]}
    part = Settings.model_validate(
        {"delegation": {**written, "reasoning_effort": "", "max_iterations": None}}
    ).delegation
    assert (part.model, part.timeout, part.toolsets, part.max_iterations) == ("openai:m", 9, ("files",), 50)
    for wrong in ({"max_concurrent_children": 0}, {"idle_seconds": 0}, {"max_spawn_depth": -1}):
        with pytest.raises(ValidationError):
            DelegationPart.model_validate(wrong)


def test_sub_agents_ask_the_model_that_is_set_for_them(home, tmp_path, factory, model_server):
    use_model(home, model_server, delegation={"model": "custom:small-model", "models": ["custom:other-model"]})
    model_server.add(
        Reply(tool_calls=[ToolCall("a", "delegate_task", {"goal": "Look."})]),
        Reply("seen"),
        Reply(tool_calls=[ToolCall("b", "delegate_task", {"goal": "Look.", "model": "custom:other-model"})]),
        Reply("seen"),
        Reply(tool_calls=[ToolCall("c", "delegate_task", {"goal": "Look.", "model": "custom:dear-model"})]),
        Reply("done"),
    )
    result = make(factory, tmp_path).run_conversation("go")
    asked = [request.body["model"] for request in model_server.requests]
    assert asked == ["test-model", "small-model", "test-model", "other-model", "test-model", "test-model"]
    assert "custom:other-model" in told(result["messages"], 2)["error"]


def test_a_model_that_cannot_be_used_is_an_answer(home, tmp_path, factory):
    configure(home, {"model": {"provider": "offline", "default": "offline"}, "delegation": {"model": "openai:gpt-5"}})
    result = make(factory, tmp_path).run_conversation(delegates("say x"))
    assert "openai:gpt-5, cannot be used" in told(result["messages"])["error"]


def test_in_a_copy_the_sessions_directory_is_outside_and_the_users_rules_hold(home, tmp_path, factory):
    configure(
        home,
        {"model": {"provider": "offline", "default": "offline"}, "approvals": {"deny": ["write: secret.txt"]}},
    )
    top = tmp_path / "project"
    top.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    agent = make(factory, top)
    goal = f"write new.txt n\nwrite secret.txt x\nread {top}/elsewhere.txt\nsay done"
    report = told(agent.run_conversation(delegates(goal, isolated=True))["messages"])
    assert report["brought_back"] == ["new.txt"]
    assert (top / "new.txt").read_text() == "n"
    assert not (top / "secret.txt").exists()
    copy = workspaces(home, factory).at_copy(agent.workspace, (tmp_path / "copy",))
    try:
        agent.workspace.approvals.mode = "default"
        inside, outside = (
            copy.approvals.decide(WritePath(path, None, b"", path)) for path in (tmp_path / "copy/a", top / "a")
        )
        assert copy.approvals.mode == "default"
        assert inside.cause == ""
        assert outside.cause == "place"
    finally:
        copy.close()


def test_what_a_rule_names_by_its_whole_path_is_denied_in_a_copy_too(home, tmp_path, factory):
    top = tmp_path / "project"
    (top / "secrets").mkdir(parents=True)
    (top / "secrets" / "key").write_text("a secret word")
    configure(
        home,
        {
            "model": {"provider": "offline", "default": "offline"},
            "approvals": {"deny": [f"read: {top}/secrets/**", f"write: {tmp_path}/*/kept.txt"]},
        },
    )
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    agent = make(factory, top)
    goal = "read secrets/key\nwrite kept.txt x\nwrite new.txt n\nsay done"
    report = told(agent.run_conversation(delegates(goal, isolated=True))["messages"])
    assert report["brought_back"] == report["files_changed"] == ["new.txt"]
    (child,) = factory.sessions.archive.children("s1")
    assert "a secret word" not in str(factory.sessions.recall.around(child.id, 0, 9))
    (tmp_path / "copy" / "secrets").mkdir(parents=True)
    copy = workspaces(home, factory).at_copy(agent.workspace, (tmp_path / "copy",))
    copy.close()
    assert tmp_path / "copy" / "secrets" in copy.containment.grounds().hidden


def test_their_conversations_are_found_by_a_search_and_not_among_the_latest(home, tmp_path, factory):
    configure(home, {"model": {"provider": "offline", "default": "offline"}})
    agent = make(factory, tmp_path)
    agent.run_conversation(delegates("say a purple heron"))
    (child,) = factory.sessions.archive.children("s1")
    assert [session.session_id for session in factory.sessions.recall.latest(5)] == ["s1"]
    assert factory.sessions.recall.around(child.id, 0, 5).messages[0].text.startswith("say a purple heron")
    assert not factory.sessions.runs_elsewhere(child)
    assert child.holder is None
