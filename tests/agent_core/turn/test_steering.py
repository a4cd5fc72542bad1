"""What the person says while a turn runs reaches the model in that turn, or the person is told that it did not."""

from __future__ import annotations

from agent_core.model_request.fallback_chain import Route
from agent_core.providers.choice import ModelChoice
from agent_core.turn import Steering
from tests.support.agents import Ears, assert_well_formed, in_background, make_agent, roles
from tests.support.scripted_provider import Hold, ScriptedProvider, says, uses


def test_words_are_given_once_and_in_order():
    steering = Steering()
    assert steering.put("one")
    assert steering.put("two")
    assert steering.take() == "one\n\ntwo"
    assert steering.take() == ""


def test_a_turn_may_end_only_when_all_words_were_taken():
    steering = Steering()
    steering.put("wait")
    assert steering.take_or_close() == "wait"
    assert steering.put("and this")
    assert steering.take_or_close() == "and this"
    assert steering.take_or_close() == ""
    assert not steering.put("too late")


def test_without_a_turn_nothing_is_steered(tmp_path):
    assert not make_agent(tmp_path, says("hello")).steer("left!")


def test_words_reach_the_model_with_the_next_tool_results(tmp_path, add_tool):
    agent = make_agent(tmp_path, uses(("a", "act", {}), ("b", "act", {})), says("done"))
    told = []
    add_tool("act", lambda args, **kw: told.append(agent.steer(f"word {len(told)}")) or "{}")
    agent.chat("go")
    assert told == [True, True]
    request = agent.provider.requests[1]
    assert roles(request.messages) == ["system", "user", "assistant", "tool", "tool", "user"]
    assert request.messages[-1]["content"] == "word 0\n\nword 1"


def test_words_that_come_during_the_last_answer_are_answered_in_the_same_turn(tmp_path):
    hold = Hold()
    first = says("I am")
    agent = make_agent(tmp_path, [*first[:-1], hold, first[-1]], says("You said stop."))
    turn = in_background(lambda: agent.run_conversation("go"))
    assert hold.reached.wait(5)
    assert agent.steer("stop")
    hold.release()
    result = turn.result(5)
    assert result["final_response"] == "You said stop."
    assert [message["content"] for message in result["messages"]] == ["go", "I am", "stop", "You said stop."]
    assert_well_formed(result["messages"])


def test_words_of_a_turn_that_is_cancelled_are_told_as_undelivered(tmp_path):
    ears, hold = Ears(), Hold()
    agent = make_agent(tmp_path, [hold, *says("never")], callbacks=ears.callbacks())
    turn = in_background(lambda: agent.run_conversation("go"))
    assert hold.reached.wait(5)
    assert agent.steer("use the other file")
    agent.interrupt()
    assert turn.result(5)["stop_reason"] == "cancelled"
    statuses = [(status.kind, status.text) for status in ears.of("status")]
    assert [kind for kind, _ in statuses] == ["undelivered"]
    assert "use the other file" in statuses[0][1]
    assert not agent.steer("and now?")


def test_a_model_that_is_switched_in_a_running_turn_gets_its_next_request(tmp_path, add_tool):
    other = ScriptedProvider(says("I am the other one."))
    route = Route.single(ModelChoice("other", "other-model", "offline", "", "given"), other)
    agent = make_agent(tmp_path, uses(("a", "switch", {})))
    add_tool("switch", lambda args, **kw: agent.switch(route, "high") or "{}")
    result = agent.run_conversation("go")
    assert result["final_response"] == "I am the other one."
    assert result["model"] == "other-model"
    assert len(agent.provider.requests) == 1
    assert [(request.model, request.reasoning) for request in other.requests] == [("other-model", "high")]
