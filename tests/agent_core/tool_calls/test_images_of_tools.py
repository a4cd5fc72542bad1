"""Images that tools give, from the call to the model: in each wire protocol, in each later request, and refused."""

from __future__ import annotations

import base64

import pytest

from agent_core.compaction.view import shown
from agent_core.messages import tool_call, tool_message
from agent_core.model_request.history_filter import Omissions
from agent_core.providers.choice import ModelFacts
from agent_core.tool_calls import result_content
from tests.support.agents import Ears, assert_well_formed
from tests.support.images import png
from tests.support.model_server import Reply, Status, ToolCall
from tests.support.tool_context import told_in
from tests.support.wire_agents import wired
from tools.result import ResultImage, ToolResult

PICTURE = png(3, 2)
ENCODED = base64.b64encode(PICTURE).decode()
REFUSED = Status(400, {"error": {"message": "image exceeds 5 MB maximum: 6 > 5", "type": "error"}})


@pytest.fixture
def look(tmp_path):
    (tmp_path / "a.png").write_bytes(PICTURE)
    return ToolCall("call_1", "vision_analyze", {"image_url": "a.png", "question": "what is it?"})


def make(over, server, protocol, **options):
    choice = wired(server.base_url, protocol, **options)
    return over(choice, enabled_toolsets=("hermes-acp", "vision"))


def test_the_model_is_shown_the_image_in_this_and_in_each_later_request(model_server, over, protocol, look):
    model_server.add(Reply("", tool_calls=[look]), Reply("a black dot"), Reply("indeed"))
    agent = make(over, model_server, protocol)
    ears = Ears()
    result = agent.run_conversation("look", callbacks=ears.callbacks())
    agent.chat("sure?")
    assert result["final_response"] == "a black dot"
    first, *later = [request.raw.decode() for request in model_server.requests]
    assert ENCODED not in first
    assert [request.count(ENCODED) for request in later] == [1, 1]
    assert ears.finished("call_1").result.images[0].data == PICTURE
    assert_well_formed(result["messages"])
    assert agent.services.prefix.breaks == []


def test_a_server_that_refuses_images_is_asked_without_and_given_no_more(model_server, over, protocol, look):
    again = ToolCall("call_2", look.name, look.arguments)
    model_server.add(Reply("", tool_calls=[look]), REFUSED, Reply("hm", tool_calls=[again]), Reply("I cannot see it"))
    agent = make(over, model_server, protocol)
    result = agent.run_conversation("look")
    assert result["final_response"] == "I cannot see it"
    raw = [request.raw.decode() for request in model_server.requests]
    assert [ENCODED in request for request in raw] == [False, True, False, False]
    assert "An image was here." in raw[-1]
    told = told_in(result["messages"][-2]["content"])
    assert "sees no images" in told["error"]


def test_a_blind_model_is_given_none(model_server, over, protocol, look):
    model_server.add(Reply("", tool_calls=[look]), Reply("a pity"))
    agent = make(over, model_server, protocol, facts=ModelFacts(vision=False))
    result = agent.run_conversation("look")
    assert "sees no images" in result["messages"][2]["content"]
    assert ENCODED not in model_server.requests[-1].raw.decode()


def test_an_old_image_makes_room_when_the_window_is_full():
    calls = [tool_call(f"c{number}", "vision_analyze", "{}") for number in range(3)]
    shown_as = result_content(ToolResult("{}", images=(ResultImage(PICTURE, "image/png"),)))
    history = [tool_message(call, shown_as) for call in calls]
    omissions = Omissions({"c0"})
    first, *latest = shown(history, omissions)
    assert "2 characters and images that vision_analyze gave" in first["content"]
    assert latest == history[1:]
