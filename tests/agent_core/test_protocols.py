"""One agent, whatever its model speaks: the same turns over each wire protocol, and from one protocol to another."""

from __future__ import annotations

import json

import pytest

from agent_core.callbacks import AgentCallbacks
from agent_core.providers.choice import ModelFacts
from tests.support.agents import Ears, assert_well_formed, roles
from tests.support.model_server import ModelServer, Reply, Status, ToolCall, Usage
from tests.support.wire_agents import PROTOCOLS, wired

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_a_turn_with_thoughts_parallel_calls_and_an_answer(model_server, over, protocol, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"this is {name}\n")
    calls = [ToolCall(f"call_{name}", "read_file", {"path": f"{name}.txt"}) for name in ("a", "b")]
    model_server.add(Reply("Both:", reasoning="I read them.", tool_calls=calls, split=3), Reply("Done.", split=2))
    ears = Ears()
    result = over(wired(model_server.base_url, protocol)).run_conversation("read", callbacks=ears.callbacks())
    assert (result["final_response"], result["stop_reason"], result["iterations"]) == ("Done.", "end_turn", 2)
    assert roles(result["messages"]) == ["user", "assistant", "tool", "tool", "assistant"]
    assert "".join(ears.of("text")) == "Both:Done."
    assert "".join(ears.of("reasoning")) == "I read them."
    assert [name for _, name in ears.of("tool_gen")] == ["read_file", "read_file"]
    sent = model_server.requests[1].raw.decode()
    assert sent.index("this is a") < sent.index("this is b")
    assert_well_formed(result["messages"])


def test_tokens_and_cost_add_up_over_a_turns_requests_and_count_each_once(model_server, over, protocol):
    facts = ModelFacts(input_price=2.0, output_price=10.0, cached_price=0.5, source="test")
    used = Usage(prompt=1000, completion=100, cached=400)
    call = ToolCall("c", "todo", {"todos": []})
    model_server.add(Reply("", tool_calls=[call], usage=used), Status(500), Reply("ok", usage=used))
    ears, agent = Ears(), over(wired(model_server.base_url, protocol, facts=facts))
    result = agent.run_conversation("go", callbacks=ears.callbacks())
    each = (600 * 2.0 + 400 * 0.5 + 100 * 10.0) / 1_000_000
    assert result["usage"] == {
        "input_tokens": 2000, "output_tokens": 200, "cached_tokens": 800, "reasoning_tokens": 0,
    }  # fmt: skip
    assert result["cost"] == pytest.approx(2 * each)
    assert [step.cost for step in ears.of("step")] == [pytest.approx(each)] * 2
    assert ears.of("step")[-1].session_cost == pytest.approx(2 * each)


def test_a_cost_that_is_not_known_stays_unknown(model_server, over, protocol):
    model_server.add(Reply("ok"))
    assert over(wired(model_server.base_url, protocol)).run_conversation("go")["cost"] is None


def test_an_image_reaches_the_model(model_server, over, protocol):
    model_server.add(Reply("A picture."))
    over(wired(model_server.base_url, protocol)).run_conversation([{"type": "text", "text": "look"}, PICTURE])
    assert "iVBORw0KGgo=" in model_server.requests[0].raw.decode()


def test_an_image_that_is_refused_is_left_out_and_the_session_goes_on(model_server, over, protocol):
    too_large = Status(400, {"error": {"message": "messages.0.content.1: image exceeds 5 MB maximum"}})
    model_server.add(too_large, Reply("I cannot see it."), Reply("again"))
    agent = over(wired(model_server.base_url, protocol))
    assert agent.run_conversation([{"type": "text", "text": "look"}, PICTURE])["final_response"] == "I cannot see it."
    assert agent.chat("next") == "again"
    assert "iVBORw0KGgo=" not in model_server.requests[-1].raw.decode()


@pytest.mark.parametrize("second_protocol", PROTOCOLS)
def test_a_conversation_goes_on_in_another_protocol(model_server, over, protocol, second_protocol, tmp_path):
    (tmp_path / "note.txt").write_text("remember\n")
    call = ToolCall("toolu_1", "read_file", {"path": "note.txt"})
    with ModelServer(Reply("from the second")) as second:
        model_server.add(Reply("Reading.", reasoning="secret thought", tool_calls=[call]))
        model_server.add(Status(401, {"error": {"message": "Incorrect API key provided"}}))
        agent = over(
            wired(model_server.base_url, protocol),
            wired(second.base_url, second_protocol, provider="other", model="m2"),
        )
        result = agent.run_conversation("read the note")
        sent = second.requests[0].raw.decode()
    assert (result["final_response"], result["model"]) == ("from the second", "m2")
    assert "remember" in sent
    assert "secret thought" not in sent
    assert_well_formed(result["messages"])


SEALED = {
    "anthropic_messages": (
        "signature",
        Reply("", reasoning="hm", tool_calls=[ToolCall("c1", "todo", {"todos": []})]),
    ),
    "codex_responses": (
        "encrypted_content",
        Reply("", sealed_reasoning="sealed-0123", tool_calls=[ToolCall("c1", "todo", {"todos": []})]),
    ),
}


@pytest.mark.parametrize("api_mode", SEALED)
def test_sealed_reasoning_goes_back_to_its_model_and_is_dropped_when_it_is_refused(model_server, over, api_mode):
    field, thinking = SEALED[api_mode]
    refused = Status(400, {"error": {"message": "Invalid `signature` in `thinking` block", "code": "x"}})
    model_server.add(thinking, refused, Reply("ok"))
    model = {"anthropic_messages": "claude-sonnet-4-5", "codex_responses": "gpt-5"}[api_mode]
    agent = over(wired(model_server.base_url, api_mode, model=model), reasoning="low")
    assert agent.run_conversation("go")["final_response"] == "ok"
    _, second, third = (json.dumps(request.body.get("messages") or request.body["input"]) for request in
                        model_server.requests)  # fmt: skip
    assert f'"{field}"' in second
    assert f'"{field}"' not in third
    assert agent.services.prefix.breaks == ["unseal"]


def test_words_for_the_running_turn_stand_behind_all_results_in_the_same_request(model_server, over, protocol):
    calls = [ToolCall(name, "todo", {}) for name in ("c1", "c2")]
    agent = over(wired(model_server.base_url, protocol))
    model_server.add(Reply("", tool_calls=calls), Reply("You said left."))
    agent.run_conversation(
        "go", callbacks=AgentCallbacks(step_callback=lambda step: step.iteration == 1 and agent.steer("turn left!"))
    )
    asked, sent = model_server.requests[1:], model_server.requests[1].raw.decode()
    assert len(asked) == 1
    assert sent.count("turn left!") == 1
    assert max(sent.rindex(name) for name in ("c1", "c2")) < sent.index("turn left!")


def test_the_closing_words_of_a_spent_turn_come_over_each_protocol_with_the_same_tools(model_server, over, protocol):
    model_server.add(Reply("", tool_calls=[ToolCall("c1", "todo", {})]), Reply("Half is done."), Reply("next"))
    agent = over(wired(model_server.base_url, protocol), max_iterations=1)
    result = agent.run_conversation("go")
    assert (result["final_response"], result["stop_reason"]) == ("Half is done.", "max_turn_requests")
    first, closing = (request.body for request in model_server.requests)
    tools = "toolConfig" if protocol == "bedrock_converse" else "tools"
    assert closing[tools] == first[tools]
    assert "tool_choice" not in closing
    assert agent.chat("go on") == "next"
    assert_well_formed(result["messages"])
