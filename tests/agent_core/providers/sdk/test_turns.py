"""Whole turns of an agent whose model is asked through an SDK."""

from __future__ import annotations

import contextlib

import pytest

from agent_core.agent import AIAgent
from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.settings.options import SessionChoices
from tests.support.fake_sign_ins import TOKEN
from tests.support.model_server import Reply, Status, ToolCall
from tests.support.settings_files import configure, use_model

FOUNDRY = {"provider": "anthropic-foundry", "default": "claude-x"}


@pytest.fixture
def chat(home, tmp_path, sdks):
    """One prompt of a session with the home's settings; the answer."""
    made = []

    def chat(text: str) -> str:
        factory = AgentFactory(ConfigSource(Home(home)))
        made.append(factory)
        factory.sessions.store.create("s", str(tmp_path))
        workspace = factory.workspace(tmp_path, (), SessionChoices())
        return factory.agent("s", workspace, factory.services("s", workspace)).chat(text)

    yield chat
    for factory in made:
        factory.close()


def test_a_library_users_agent_is_asked_through_the_sdk_that_the_settings_name(home, model_server, sdks):
    use_model(home, model_server, model={"transport": "sdk"})
    model_server.add(Reply("Hello."))
    agent = AIAgent(provider="custom", model="test-model")
    with contextlib.closing(agent.provider):
        assert agent.chat("hi") == "Hello."
    assert "OpenAI" in model_server.requests[0].headers["user-agent"]


def test_a_turn_with_a_call_of_a_tool_goes_through_a_clouds_sign_in(home, tmp_path, model_server, sign_ins, chat):
    (tmp_path / "note.txt").write_text("the word is heron")
    configure(home, {"model": {**FOUNDRY, "base_url": f"http://127.0.0.1:{model_server.port}/anthropic"}})
    call = ToolCall("call_1", "read_file", {"path": str(tmp_path / "note.txt")})
    model_server.add(Reply(tool_calls=[call]), Reply("It is heron."))
    assert chat("Which word is in note.txt?") == "It is heron."
    first, second = model_server.requests[:2]
    assert {first.headers["authorization"], second.headers["authorization"]} == {f"Bearer {TOKEN}"}
    assert "the word is heron" in str(second.body["messages"])
    assert len(sign_ins.asked) == 1


def test_where_the_sign_in_fails_the_next_model_is_asked(home, model_server, sign_ins, chat):
    sign_ins.refusal = (400, {"error": "invalid_request"})
    other = {"provider": "custom", "model": "other-model", "base_url": model_server.base_url, "api_key": "k"}
    address = f"http://127.0.0.1:{model_server.port}/anthropic"
    configure(home, {"model": {**FOUNDRY, "base_url": address}, "fallback_providers": [other]})
    model_server.add(Reply("I am the other one."))
    assert chat("hi") == "I am the other one."
    assert model_server.requests[0].body["model"] == "other-model"


def test_a_server_that_is_busy_is_asked_again_by_us_and_not_by_the_sdk(home, model_server, chat):
    use_model(home, model_server, model={"transport": "sdk"})
    model_server.add(Status(503, headers={"Retry-After": "0"}), Reply("Now."))
    assert chat("hi") == "Now."
    retries = [request.headers["x-stainless-retry-count"] for request in model_server.requests[:2]]
    assert retries == ["0", "0"]
