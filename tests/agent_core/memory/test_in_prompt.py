"""What the model is told of memory: in the system prompt, the same bytes all session long."""

from __future__ import annotations

import json

import pytest

from agent_core.config import ConfigSource
from agent_core.factory import AgentFactory
from agent_core.home import Home
from agent_core.memory.store import MemoryStore
from agent_core.settings.options import SessionChoices
from tests.agent_core.memory.test_store import add, do
from tests.support.model_server import Reply, ToolCall
from tests.support.settings_files import use_model


@pytest.fixture
def factory(home):
    factory = AgentFactory(ConfigSource(Home(home)))
    yield factory
    factory.close()


def agent(factory, cwd, session_id):
    workspace = factory.workspace(cwd, (), SessionChoices())
    factory.sessions.store.create(session_id, str(cwd))
    return factory.agent(session_id, workspace, factory.services(session_id, workspace))


def remember(content):
    return Reply(tool_calls=[ToolCall("call-1", "memory", json.dumps({"action": "add", "content": content}))])


def prompts(model_server):
    return [request.body["messages"][0]["content"] for request in model_server.requests]


def offered(model_server):
    return {tool["function"]["name"] for tool in model_server.requests[0].body["tools"]}


def test_a_new_session_begins_with_what_was_remembered_and_a_running_one_keeps_its_bytes(
    home, tmp_path, factory, model_server
):
    use_model(home, model_server)
    do(MemoryStore(home), add("known before"))
    model_server.add(remember("found out now"), Reply("done"), Reply("again"), Reply("other"))
    one = agent(factory, tmp_path, "one")
    one.chat("remember it")
    one.chat("and?")
    agent(factory, tmp_path, "two").chat("hi")
    *first, second = prompts(model_server)
    assert len(set(first)) == 1
    assert "\n\n# What you remember\n" in first[0]
    assert "known before" in first[0]
    assert "found out now" not in first[0]
    assert "- known before\n- found out now" in second
    assert "- memory keeps" in second


@pytest.mark.parametrize(
    "settings",
    [
        {"memory": {"memory_enabled": False, "user_profile_enabled": False}},
        {"agent": {"disabled_toolsets": ["memory"]}},
    ],
)
def test_without_the_tool_there_is_no_guidance(home, tmp_path, factory, model_server, settings):
    use_model(home, model_server, **settings)
    model_server.add(Reply("hi"))
    agent(factory, tmp_path, "one").chat("hi")
    assert "- memory keeps" not in prompts(model_server)[0]
    assert "memory" not in offered(model_server)


def test_the_limits_come_from_the_settings(home, tmp_path, factory, model_server):
    use_model(home, model_server, memory={"memory_char_limit": 100})
    model_server.add(remember("x" * 101), Reply("too long"))
    agent(factory, tmp_path, "one").chat("hi")
    assert "101 of 100 characters" in model_server.requests[1].body["messages"][-1]["content"]
