"""Tool calls inside a turn: what the model gets back, ids, the plan, and who listens."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from agent_core.callbacks import AgentCallbacks, CallRunning, Step
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import Finished, ReasoningDelta, TextDelta, Usage, UsageReport
from tests.support.agents import Ears, in_background, make_agent
from tests.support.scripted_provider import ScriptedProvider, says, uses
from tests.support.tool_context import ScriptedApprover, told_in


@pytest.fixture
def ears():
    return Ears()


def results_of(messages):
    return [
        (message["tool_call_id"], told_in(str(message["content"])))
        for message in messages
        if message["role"] == "tool"
    ]


def test_parallel_calls_run_side_by_side_with_results_in_call_order(tmp_path, add_tool):
    both = threading.Barrier(2)

    def meet(args, **kw):
        both.wait(5)
        return json.dumps({"who": args["who"]})

    add_tool("meet", meet, parallel="safe")
    script = uses(("a", "meet", {"who": "first"}), ("b", "meet", {"who": "second"}))
    result = make_agent(tmp_path, script, says("met")).run_conversation("go")
    assert results_of(result["messages"]) == [("a", {"who": "first"}), ("b", {"who": "second"})]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("no_such_tool", "{}", "There is no tool 'no_such_tool'"),
        ("read_file", '{"path": "x', "not valid JSON"),
        ("read_file", "[]", "one JSON object"),
        ("read_file", "{}", "The argument 'path' is missing"),
        ("read_file", '{"path": "missing.txt"}', "missing.txt"),
        ("broken", "{}", "ZeroDivisionError"),
    ],
)
def test_what_goes_wrong_in_a_call_is_told_to_the_model_and_the_turn_goes_on(
    tmp_path, add_tool, name, arguments, told
):
    add_tool("broken", lambda args, **kw: 1 // 0)
    agent = make_agent(tmp_path, uses(("a", name, arguments)), says("I see."))
    result = agent.run_conversation("go")
    ((_, answer),) = results_of(agent.provider.requests[1].messages)
    assert told in answer["error"]
    assert (result["final_response"], result["stop_reason"]) == ("I see.", "end_turn")


def test_ids_that_the_provider_repeats_are_made_unique_among_tools_and_over_turns(tmp_path, ears):
    again = uses(("call_1", "todo", {}), ("call_1", "memory", {}))
    agent = make_agent(tmp_path, again, again, says("ok"), again, says("ok"), callbacks=ears.callbacks())
    agent.chat("go")
    result = agent.run_conversation("again")
    asked = [call["id"] for message in result["messages"] for call in message.get("tool_calls", ())]
    answered = [call_id for call_id, _ in results_of(result["messages"])]
    assert len(set(asked)) == 6
    assert asked == answered
    assert [call_id for call_id, _ in ears.of("tool_gen")] == asked


def test_ids_of_a_given_history_are_not_used_again(tmp_path):
    call = tool_call("call_1", "todo", "{}")
    history = [user_message("go"), assistant_message("", [call]), tool_message(call, "{}"), assistant_message("ok")]
    agent = make_agent(tmp_path, uses(("call_1", "todo", {})), says("ok"))
    result = agent.run_conversation("again", conversation_history=history)
    assert [call_id for call_id, _ in results_of(result["messages"])] == ["call_1", "call_1-2"]


def test_everything_is_told_in_its_order(tmp_path, ears, add_tool):
    def work(args, **kw):
        kw["ctx"].progress("half\n")
        return "{}"

    add_tool("work", work)
    first = [ReasoningDelta("hm"), *uses(("a", "work", {}), text="Look:"), UsageReport(Usage(3, 4))]
    make_agent(tmp_path, first, says("Done."), callbacks=ears.callbacks()).chat("go")
    assert ears.kinds() == [
        "message", "reasoning", "text", "tool_gen", "step", "message",
        "tool", "tool", "tool", "tool", "message", "text", "step", "message",
    ]  # fmt: skip
    assert ears.progress("a") == ["requested", "running", "output", "finished"]
    assert ears.of("text") == ["Look:", "Done."]
    assert [replace(step, began=0.0) for step in ears.of("step")] == [
        Step(1, "tool_calls", Usage(3, 4), model="scripted:test-model"),
        Step(2, "stop", Usage(), model="scripted:test-model"),
    ]


def test_the_messages_that_are_told_are_those_of_the_conversation(tmp_path, ears):
    agent = make_agent(tmp_path, uses(("a", "todo", {})), says("ok"), callbacks=ears.callbacks())
    assert ears.of("message") == []
    result = agent.run_conversation("go")
    assert ears.of("message") == result["messages"]


def test_parallel_calls_each_go_their_way_in_order(tmp_path, ears, add_tool):
    both = threading.Barrier(2)
    add_tool("meet", lambda args, **kw: (both.wait(5) and None) or "{}", parallel="safe")
    script = uses(("a", "meet", {}), ("b", "meet", {}))
    make_agent(tmp_path, script, says("ok"), callbacks=ears.callbacks()).chat("go")
    assert ears.progress("a") == ears.progress("b") == ["requested", "running", "finished"]


def test_a_card_runs_only_after_the_grant(tmp_path, ears):
    running_when_asked = []
    approver = ScriptedApprover(
        before_answer=lambda: running_when_asked.append([s for s in ears.of("tool") if isinstance(s, CallRunning)])
    )
    script = uses(("a", "write_file", {"path": "new.txt", "content": "hi\n"}))
    agent = make_agent(tmp_path, script, says("ok"), mode="default", approver=approver, callbacks=ears.callbacks())
    agent.chat("go")
    assert running_when_asked == [[]]
    assert ears.progress("a") == ["requested", "running", "finished"]


def test_a_cancel_while_the_person_is_asked_ends_the_turn_and_changes_nothing(tmp_path):
    asked = threading.Event()

    class Slow:
        def ask(self, question, interrupt):
            asked.set()
            interrupt.wait_for(lambda: False, timeout=10)
            return ScriptedApprover().ask(question, interrupt)

    script = uses(("a", "write_file", {"path": "new.txt", "content": "hi\n"}))
    agent = make_agent(tmp_path, script, mode="default", approver=Slow())
    running = in_background(lambda: agent.run_conversation("go"))
    assert asked.wait(5)
    agent.interrupt()
    assert running.result(5)["stop_reason"] == "cancelled"
    assert not (tmp_path / "new.txt").exists()


def test_the_plan_is_told_when_it_changes_and_outlasts_the_turn(tmp_path, ears):
    todos = [{"id": "1", "content": "Look", "status": "in_progress"}]
    agent = make_agent(
        tmp_path, uses(("a", "todo", {"todos": todos})), says("Is that all?"), uses(("b", "todo", {})), says("ok"),
        callbacks=ears.callbacks(),
    )  # fmt: skip
    agent.chat("plan")
    result = agent.run_conversation("what was the plan?")
    assert [[item.content for item in items] for items in ears.of("plan")] == [["Look"]]
    assert "Look" in str(results_of(result["messages"])[-1])


def test_a_turns_own_callbacks_take_the_place_of_the_agents(tmp_path, ears):
    others = Ears()
    agent = make_agent(tmp_path, says("one"), says("two"), callbacks=ears.callbacks())
    agent.run_conversation("hi", callbacks=others.callbacks())
    assert (ears.heard, others.of("text")) == ([], ["one"])
    agent.chat("hi")
    assert ears.of("text") == ["two"]


def test_no_callback_is_needed(tmp_path):
    script = [ReasoningDelta("hm"), TextDelta("x"), *uses(("a", "todo", {"todos": []}))]
    agent = make_agent(
        tmp_path, script, uses(("b", "todo", {})), says("no more"), max_iterations=2, callbacks=AgentCallbacks()
    )
    assert agent.run_conversation("go")["stop_reason"] == "max_turn_requests"


def test_the_work_of_a_turn_is_named_by_the_caller_or_by_the_turn(tmp_path, add_tool):
    names = []
    add_tool("look", lambda args, **kw: names.append(kw["task_id"]) or "{}")
    provider = ScriptedProvider(uses(("a", "look", {})), says("ok"), uses(("b", "look", {})), says("ok"))
    agent = make_agent(tmp_path, provider=provider)
    agent.run_conversation("go", task_id="job-7")
    result = agent.run_conversation("go")
    assert names == ["job-7", result["turn_id"]]


def test_calls_of_an_answer_that_was_cut_off_are_not_run_with_half_their_arguments(tmp_path):
    cut = [*uses(("a", "write_file", '{"path": "new.txt", "content": "half'))[:-1], Finished("length")]
    agent = make_agent(tmp_path, cut, says("sorry"))
    agent.chat("go")
    assert "output limit" in str(agent.provider.requests[1].messages[-1]["content"])
    assert not (tmp_path / "new.txt").exists()
